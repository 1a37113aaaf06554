// Compresses the built files, so that the server sends them as they lie in its memory, and writes
// down whose code is in them: node pack.mjs [FOLDER]
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const folder = process.argv[2];
const dist = folder ? pathToFileURL(`${folder}/`) : new URL("../crates/server/src/web/dist/", import.meta.url);
/** Files of the first paint; the editor comes when somebody writes a text, the pages of files when one of them is opened, and what knows Parquet with a file of it. */
const FIRST = ["index.html", "s/page.css", "s/page.js"];
const NAMES = [...FIRST, "s/editor.js", "s/files.js", "s/parquet.js"];
// What two of them share and the page does not would become a file that the server has no route for.
const others = readdirSync(new URL("s/", dist)).map((name) => `s/${name.replace(/\.gz$/, "")}`).filter((name) => !NAMES.includes(name));
if (others.length) throw new Error(`no route has ${others.join(", ")}: let the page import what is in there, or one of the files alone`);
const packed = NAMES.map((name) => {
  const bytes = gzipSync(readFileSync(new URL(name, dist)), { level: 9 });
  // The byte that names the operating system would tell where the file was built.
  bytes[9] = 255;
  writeFileSync(new URL(`${name}.gz`, dist), bytes);
  return bytes.length;
});

const { packages } = JSON.parse(readFileSync(new URL("package-lock.json", import.meta.url), "utf8"));
const shipped = Object.keys(packages).filter((path) => path && !packages[path].dev && !packages[path].devOptional).sort();
const notices = shipped.map((path) => {
  const name = path.replace("node_modules/", "");
  const home = new URL(`${path}/`, import.meta.url);
  const { version } = JSON.parse(readFileSync(new URL("package.json", home), "utf8"));
  const licence = readFileSync(new URL("LICENSE", home), "utf8").replace(/[ \t]+$/gm, "").trim();
  return `${name} ${version}\n\n${licence}\n`;
});
writeFileSync(
  new URL("LICENSES.txt", dist),
  `Packages whose code is part of the page.\n\n${notices.join("\n----\n\n")}`,
);
const total = packed.slice(0, FIRST.length).reduce((all, bytes) => all + bytes, 0);
console.log(`compressed: ${packed.join(" + ")} bytes, of which ${total} to the first paint`);
// The rest of 100 KB is for what the server answers until then.
if (total > 92_000) throw new Error(`${total} bytes come before the first paint, and no more than 92000 may`);
