import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { setLanguage } from "./i18n.ts";
import "./styles/base.css";
import "./styles/components.css";
import { applyTheme } from "./theme.ts";

applyTheme();
await setLanguage();
createRoot(document.getElementById("root")!).render(<App />);
