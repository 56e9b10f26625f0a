// A few of the package's commands, for `importLate`.
export {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
export { FetchHttpHandler } from "@smithy/fetch-http-handler";
