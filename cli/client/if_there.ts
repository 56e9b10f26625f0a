import { ApiError } from "@vessel/gateway/client";

/** The reply; undefined if the server has no such thing (404). */
export async function ifThere<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
