import assert from "node:assert/strict";
import { errorText } from "../../src/base/mod.ts";

Deno.test("a special file that Deno opens for nobody but programs with all permissions is said so, without its flags", () => {
  const denied = new Deno.errors.NotCapable(
    'Requires all access to "/dev/stdin", run again with the --allow-all flag',
  );
  assert.equal(
    errorText(denied),
    'this program may not open "/dev/stdin": files of /dev, /proc and /sys need all permissions of Deno',
  );
  const other = 'Requires sys access to "hostname", run again with the --allow-sys flag';
  assert.equal(errorText(new Deno.errors.NotCapable(other)), other);
  assert.equal(errorText("text"), "text");
});
