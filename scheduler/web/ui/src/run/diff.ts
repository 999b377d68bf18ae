export interface Change {
  kind: "same" | "added" | "removed";
  text: string;
}

// Beyond this many comparisons, the middle is shown as replaced whole.
const maxComparisons = 4_000_000;

/** Returns how a text became another one, word by word. */
export function diffWords(before: string, after: string): Change[] {
  const a = before.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  const b = after.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const changes: Change[] = [{ kind: "same", text: a.slice(0, head).join("") }];
  changes.push(...diffMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)));
  changes.push({ kind: "same", text: a.slice(a.length - tail).join("") });
  return mergeChanges(changes);
}

function diffMiddle(a: string[], b: string[]): Change[] {
  if (a.length * b.length > maxComparisons || !a.length || !b.length) {
    return [{ kind: "removed", text: a.join("") }, { kind: "added", text: b.join("") }];
  }
  // longest[i][j] is how long the longest common part of a from i and b from j is.
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1]! + 1
        : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const changes: Change[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      changes.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (j === b.length || (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      changes.push({ kind: "removed", text: a[i++]! });
    } else {
      changes.push({ kind: "added", text: b[j++]! });
    }
  }
  return changes;
}

function mergeChanges(changes: Change[]): Change[] {
  const merged: Change[] = [];
  for (const c of changes) {
    const last = merged.at(-1);
    if (!c.text) continue;
    if (last?.kind === c.kind) last.text += c.text;
    else merged.push({ ...c });
  }
  return merged;
}
