// Only those parts of markdown-it go into the bundle that view/markdown needs: no raw HTML, no bare addresses made links,
// no typography, no writer of HTML. Its other packages are replaced by src/markdown_it_parts.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = ["entities", "linkify-it", "mdurl", "punycode.js", "uc.micro"];

const LEFT_OUT = [
  "src/renderer.ts",
  "src/rules_core/strip_references.ts",
  "src/rules_core/inline.ts",
  "src/rules_core/linkify.ts",
  "src/rules_core/replacements.ts",
  "src/rules_core/smartquotes.ts",
  "src/rules_core/text_join.ts",
  "src/common/html_blocks.ts",
  "src/common/html_re.ts",
  "src/rules_block/html_block.ts",
  "src/rules_inline/linkify.ts",
  "src/rules_inline/html_inline.ts",
];

// What mentions them, and what stands there instead.
const MENTIONS = [
  [/\["strip_references", .*\["text_join", text_join\]/s, ""],
  [/\[\s*"html_block",\s*html_block,\s*\[[^\]]*\]\s*\],/, ""],
  ['["linkify", linkify],', ""],
  ['["html_inline", html_inline],', ""],
  ["new Renderer()", "null"],
  ['_defineProperty(MarkdownIt, "Renderer", Renderer);', ""],
];

function replaced(source, what, by) {
  const result = source.replace(what, by);
  if (result === source) throw new Error(`markdown-it does not contain ${what}: adapt markdown_it.mjs to this version`);
  return result;
}

/** Returns the plugin of esbuild. */
export function markdownIt(folder) {
  return {
    name: "the needed parts of markdown-it",
    setup({ onLoad, onResolve }) {
      const packages = new RegExp(`^(?:${PACKAGES.join("|").replaceAll(".", "\\.")})$`);
      onResolve({ filter: packages }, ({ path }) => ({ path: join(folder, "src", "markdown_it_parts", `${path}.ts`) }));
      onLoad({ filter: /markdown-it\.mjs$/ }, ({ path }) => {
        let contents = readFileSync(path, "utf8");
        for (const region of LEFT_OUT) {
          const name = region.replaceAll(".", "\\.");
          contents = replaced(contents, new RegExp(`//#region ${name}\\n.*?//#endregion\\n`, "s"), "");
        }
        for (const [what, by] of MENTIONS) contents = replaced(contents, what, by);
        return { contents, loader: "js" };
      });
    },
  };
}
