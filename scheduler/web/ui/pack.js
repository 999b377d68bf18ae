// Compresses what Vite has built into ../dist, where the program embeds it, and holds the
// page to its size. A file whose content is the same is left alone: compressed bytes differ
// between versions of zlib, contents do not.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const built = "build/dist";
const dist = "../dist";
// What each entry may weigh, in bytes of gzip.
const budgets = { first: 110_000, run: 140_000, all: 420_000 };

const files = list(built);
mkdirSync(dist, { recursive: true });
for (const old of list(dist)) {
  if (!files.includes(old.replace(/\.gz$/, ""))) rmSync(join(dist, old));
}
const sizes = {};
for (const file of files) {
  const content = readFileSync(join(built, file));
  const target = join(dist, file + ".gz");
  mkdirSync(dirname(target), { recursive: true });
  sizes[file] = writeCompressed(target, content);
}

const entry = readFileSync(join(built, "index.html"), "utf8");
const first = ["index.html", ...[...entry.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1])];
const language = files.filter((f) => /^assets\/(en|zh)-/.test(f)).sort((a, b) => sizes[b] - sizes[a])[0];
const start = closure([...first, language, chunkOf("flows")]);
check("first", start);
check("run", closure([...first, language, chunkOf("run")]));
check("all", files);

function list(dir) {
  try {
    return readdirSync(dir, { recursive: true })
      .map((f) => relative(dir, join(dir, f)))
      .filter((f) => statSync(join(dir, f)).isFile())
      .sort();
  } catch {
    return []; // nothing was built before
  }
}

function writeCompressed(target, content) {
  try {
    const old = readFileSync(target);
    if (gunzipSync(old).equals(content)) return old.length;
  } catch {
    // The file is new or damaged.
  }
  const zipped = gzipSync(content, { level: 9 });
  zipped[9] = 255; // no system is named
  writeFileSync(target, zipped);
  return zipped.length;
}

function chunkOf(screen) {
  const found = files.find((f) => f.startsWith(`assets/${screen}-`) && f.endsWith(".js"));
  if (!found) throw new Error(`the screen ${screen} has no chunk of its own`);
  return found;
}

// closure adds what the files import at once, styles among them.
function closure(names) {
  const all = new Set();
  const add = (name) => {
    if (!name || all.has(name)) return;
    all.add(name);
    if (!name.endsWith(".js")) return;
    const text = readFileSync(join(built, name), "utf8");
    for (const m of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) add("assets/" + m[1]);
    const style = files.find((f) => f.endsWith(".css") && f.replace(/-[^-]{8}\.css$/, "") === name.replace(/-[^-]{8}\.js$/, ""));
    add(style);
  };
  names.forEach(add);
  return [...all];
}

function check(what, names) {
  const sum = names.reduce((n, f) => n + sizes[f], 0);
  console.log(`${what}: ${(sum / 1000).toFixed(1)} kB of ${budgets[what] / 1000} (${names.length} files)`);
  if (sum > budgets[what]) {
    console.error(`the page is too large: ${what} has ${sum} bytes, ${budgets[what]} are allowed`);
    process.exitCode = 1;
  }
}
