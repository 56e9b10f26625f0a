import "./style.css";
import { render } from "preact";
import { App } from "./shell/app.tsx";
import { keepForOffline } from "./shell/offline.ts";
import { applyTheme } from "./shell/preferences.ts";

applyTheme();
const root = document.getElementById("app");
if (root) render(<App />, root);
void keepForOffline();
