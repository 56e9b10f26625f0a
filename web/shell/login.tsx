import { useState } from "preact/hooks";
import { openServer } from "./server.ts";

/** Asks for a token. It is kept for this tab and sent in a header, never in a URL. */
export function Login({ message }: { message: string | undefined }) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await openServer(text.trim());
    setBusy(false);
  };
  return (
    <main class="login">
      <h1>Vessel Bus Gateway</h1>
      <p>This server asks for an access token. Whoever runs the server has one; it is kept for this tab only.</p>
      <form onSubmit={submit}>
        {/* Programs that keep passwords ask for a name. */}
        <input type="text" autocomplete="username" value="vbg" hidden readOnly />
        <label for="token">Access token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          value={text}
          aria-describedby="token-error"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <p id="token-error" class="bad" role="alert">{message ?? ""}</p>
        <button type="submit" disabled={isBusy || text.trim() === ""}>Log in</button>
      </form>
    </main>
  );
}
