import { completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useImperativeHandle, useRef, type Ref } from "react";
import { send, type Schemas } from "../api/client.ts";
import { schemaCompletion, type Schema } from "./completion.ts";

type Problem = Schemas["ProblemBody"];

export interface EditorHandle {
  /** Puts the cursor at a line and column from 1, and shows it. */
  goTo(line: number, col: number): void;
}

const nonce = document.querySelector<HTMLMetaElement>("meta[name='csp-nonce']")?.content ?? "";

/** Marks a text that was put in by the page: it is not a change of the person who types. */
const fromOutside = Annotation.define<boolean>();

const loadSchema = async () => (await (await send("GET", "/api/v1/flow.schema.json", {})).json()) as Schema;

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--amber)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.meta, tags.labelName, tags.typeName], color: "var(--blue)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--card)", height: "100%", fontSize: "12.5px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--tint) 45%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--tint)", color: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line-strong)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--card)" },
  ".cm-completionInfo": { maxWidth: "28rem" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", maxWidth: "36rem" },
});

/**
 * Replaces a selection by the text that is put in its place. Left to it, the browser copies
 * the colours of what goes into inline styles, which the Content-Security-Policy refuses.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    if (inputType !== "insertText" || data === null || view.composing || view.state.readOnly) return false;
    const { from, to } = replacedRange(event, view);
    if (from === to) return false;
    event.preventDefault();
    view.dispatch({ changes: { from, to, insert: data }, selection: { anchor: from + data.length }, userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/**
 * Returns what a text that is put in replaces. The editor hears of a selection that the
 * browser has made only after a moment; until then, the event alone knows of it, or, of a
 * text that a program puts in, the browser.
 */
function replacedRange(event: InputEvent, view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  const selection = view.contentDOM.ownerDocument.getSelection();
  const target = event.getTargetRanges()[0] ?? (selection?.rangeCount ? selection.getRangeAt(0) : undefined);
  if (!main.empty || !target) return main;
  const ends = [view.posAtDOM(target.startContainer, target.startOffset), view.posAtDOM(target.endContainer, target.endOffset)];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}

/** Editor is a text of YAML with the problems of the program at their places. Escape, then Tab, leaves it. */
export function Editor({ text, start, onChange, onLine, onSave, problems, readOnly, label, ref }: {
  text: string;
  /** The line that is shown at first, from 1. */
  start?: number;
  onChange(text: string): void;
  /** Hears of the line that the cursor is in, from 1. */
  onLine?(line: number): void;
  onSave(): void;
  problems: Problem[];
  readOnly: boolean;
  label: string;
  ref?: Ref<EditorHandle>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const writable = useRef(new Compartment());
  const newest = useRef({ onChange, onLine, onSave });
  useEffect(() => {
    newest.current = { onChange, onLine, onSave };
  });
  useEffect(() => {
    const save = () => (newest.current.onSave(), true);
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce), EditorView.lineWrapping, lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection(), history(), indentOnInput(), bracketMatching(),
      indentUnit.of("  "), yaml(), syntaxHighlighting(colours), look, lintGutter(), writable.current.of([]), schemaCompletion(loadSchema), replaceSelection,
      keymap.of([{ key: "Mod-s", run: save, preventDefault: true }, ...defaultKeymap, ...historyKeymap, ...lintKeymap, ...completionKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.updateListener.of((u) => u.docChanged && !u.transactions.some((tr) => tr.annotation(fromOutside)) && newest.current.onChange(u.state.doc.toString())),
      EditorView.updateListener.of((u) => {
        const line = u.state.doc.lineAt(u.state.selection.main.head).number;
        if (u.selectionSet || u.docChanged) newest.current.onLine?.(line);
      }),
    ];
    const made = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: box.current! });
    // As the list of problems grows, the editor shrinks: the line of the cursor stays in view.
    const resized = new ResizeObserver(() => made.hasFocus && made.dispatch({ effects: EditorView.scrollIntoView(made.state.selection.main.head) }));
    resized.observe(made.dom);
    made.scrollDOM.tabIndex = 0; // what scrolls must be in reach of the keyboard
    view.current = made;
    if (start) showPlace(made, start, 1);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // The text is the editor's own from here on; another one comes by the effect below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [label]);
  useEffect(() => {
    const made = view.current!;
    if (made.state.doc.toString() !== text) made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text }, annotations: fromOutside.of(true) });
  }, [text]);
  useEffect(() => {
    view.current!.dispatch({ effects: writable.current.reconfigure([EditorState.readOnly.of(readOnly)]) });
  }, [readOnly]);
  useEffect(() => {
    const made = view.current!;
    made.dispatch(setDiagnostics(made.state, problems.map((p) => diagnosticOf(made.state, p))));
  }, [problems]);
  useImperativeHandle(ref, () => ({
    goTo(line, col) {
      showPlace(view.current!, line, col);
    },
  }));
  return <div className="editor" ref={box} />;
}

function showPlace(view: EditorView, line: number, col: number) {
  const at = placeOf(view.state, line, col);
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}

/** Returns the offset of a line and column from 1, which may be of an older text. */
function placeOf(state: EditorState, line: number, col: number): number {
  const found = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
  return Math.min(found.from + Math.max(col - 1, 0), found.to);
}

function diagnosticOf(state: EditorState, p: Problem): Diagnostic {
  const from = placeOf(state, p.line, p.col);
  const word = /^[^\s,\]}]+/.exec(state.doc.sliceString(from, state.doc.lineAt(from).to))?.[0].length ?? 0;
  return { from, to: from + word, severity: p.severity, message: [p.message, p.hint].filter(Boolean).join("\n") };
}
