// Builds the files that the wheel ships: `node build.mjs`, or `node build.mjs --out FOLDER`. The same sources and
// packages give the same bytes. `node build.mjs --package` builds what `npm pack` packs, into dist/.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import { markdownIt } from "./markdown_it.mjs";
import { vega } from "./vega.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = "es2022";
const { version: ownVersion } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

const minifiedCss = {
  name: "minified CSS as a string",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true, target });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

async function bundle(entry, format = "esm") {
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    write: false,
    define: { XMCP_VERSION: JSON.stringify(ownVersion) },
    bundle: true,
    minify: true,
    format,
    target,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    plugins: [markdownIt(here), vega(here), minifiedCss],
  });
  return outputFiles[0].text;
}

// The view for hosts of MCP Apps is one file: its script stands in the page, and nothing in it can end the element there.
async function appsPage() {
  const script = await bundle("src/apps/view.ts");
  const inert = script.trim().replaceAll("</script", "\\x3c/script").replaceAll("<!--", "\\x3c!--");
  return readFileSync(join(here, "src", "apps", "page.html"), "utf8").replace("/* the script */", () => inert);
}

/** Returns what the licence of a package asks to be said where it is built in. */
function notice(name, parts = "") {
  const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  return `${parts}${name} ${version}:\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
}

function notices() {
  return [
    `xmcp_display.js and mcp_app.html contain ${notice("markdown-it", "parts of ")}`,
    ...["vega", "vega-lite", "vega-interpreter"].map((name) => `xmcp_display_vega_worker.js contains ${notice(name)}`),
    `Vega contains parts of other packages:\n\n${readFileSync(join(here, "vega_parts.txt"), "utf8").trim()}\n`,
  ].join("\n----\n\n");
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const forNpm = process.argv.includes("--package");
const out = forNpm ? join(here, "dist") : (option("--out") ?? join(here, "..", "xmcp", "render", "web"));
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "xmcp_display.js"), await bundle("src/element/index.ts"));
writeFileSync(join(out, "xmcp_display_vega.js"), await bundle("src/vega/index.ts"));
writeFileSync(join(out, "xmcp_display_vega_worker.js"), await bundle("src/vega/worker.ts", "iife"));
if (!forNpm) writeFileSync(join(out, "mcp_app.html"), await appsPage());
writeFileSync(join(forNpm ? here : out, "THIRD_PARTY_NOTICES"), notices());
if (forNpm) {
  const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
  const types = join(out, "types");
  const declarations = [
    "--noEmit",
    "false",
    "--emitDeclarationOnly",
    "--declaration",
    "--rootDir",
    "src",
    "--outDir",
    types,
  ];
  execFileSync(process.execPath, [tsc, "-p", here, ...declarations], { cwd: here, stdio: "inherit" });
  for (const file of readdirSync(types, { recursive: true }).filter((name) => name.endsWith(".d.ts"))) {
    // A declaration names the module that would stand beside it.
    const written = readFileSync(join(types, file), "utf8").replaceAll(
      /(from "\.[^"]*|import\("\.[^"]*)\.ts"/g,
      '$1.js"',
    );
    writeFileSync(join(types, file), written);
  }
}
