import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useText } from "./i18n.ts";
import { setTheme, themes, useTheme, type Theme } from "./theme.ts";

/** The outlines of the icons, on a ground of 24 by 24. */
const icons: Record<Theme, string> = {
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
};

function Icon({ theme }: { theme: Theme }) {
  return (
    <svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      <path d={icons[theme]} />
    </svg>
  );
}

/** ThemeMenu is an icon that opens the choice of colours. The arrow keys go through the choice, Escape leaves it as it was. */
export function ThemeMenu() {
  const t = useText();
  const theme = useTheme();
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) box.current!.querySelector<HTMLElement>("[aria-checked=true]")!.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current!.focus();
  };
  const move = (e: KeyboardEvent) => {
    if (!isOpen) return;
    const items = [...box.current!.querySelectorAll<HTMLElement>("[role=menuitemradio]")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[e.key];
    if (e.key === "Escape") close();
    if (to === undefined) return;
    e.preventDefault();
    items[to % items.length]!.focus();
  };
  return (
    <div className="menu" ref={box} onKeyDown={move} onBlur={(e) => !box.current!.contains(e.relatedTarget) && setOpen(false)}>
      <button ref={button} className="quiet icon" aria-haspopup="menu" aria-expanded={isOpen} aria-label={t("nav.theme")} title={t("nav.theme")} onClick={() => setOpen(!isOpen)}><Icon theme={theme} /></button>
      {isOpen && (
        <div role="menu" aria-label={t("nav.theme")}>
          {themes.map((one) => (
            <button key={one} role="menuitemradio" aria-checked={one === theme} tabIndex={-1} className="quiet" onClick={() => (setTheme(one), close())}>
              <Icon theme={one} /> {t(`nav.theme_${one}`)}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
