// Only those parts of markdown-it go into the bundle that view/markdown needs: no raw HTML, no bare addresses made links,
// no rewritten addresses, no typography, no writer of HTML, no plugins. Of its other packages two are replaced by
// src/markdown_it_parts, and nothing is left that uses the others.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = ["entities", "uc.micro"];

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
  [/import (?:\* as mdurl|\{ LinkifyIt \}|punycode) from .*?;\n/g, ""],
  [/var lib = \{.*?\};/s, ""],
  ["lib: () => lib,", ""],
  // A property is defined as any other value is set.
  [/\/\/#region [^\n]*\/esm\/typeof\.js\n.*?\/esm\/defineProperty\.js\n.*?\/\/#endregion\n/s, ""],
  [/_defineProperty\(\s*this,\s*(?:\/\*\*.*?\*\/\s*)?"(\w+)",\s*/gs, "(this.$1 = "],
  // MarkdownIt: one preset, and no methods but those that parse.
  [/,\s*zero: \{.*?\n\t\}\n(?=\};\nvar BAD_PROTO_RE)/s, ""],
  [
    /var BAD_PROTO_RE.*?\tvalidateLink.*?(?=\n\tconstructor)/s,
    "var MarkdownIt = class {\n\tvalidateLink() { return true; }\n\tnormalizeLink(url) { return url; }\n\tnormalizeLinkText(url) { return url; }",
  ],
  [/\(this\.(?:renderer|linkify|utils) = [^;]*;/g, ""],
  [/\tenable\(list, ignoreInvalid = false\) \{\n\t\tlet result.*?(?=\tparse\(src, env\) \{\n\t\tif)/s, ""],
  [/\trender\(src, env = \{\}\).*?(?=\n\};\n_defineProperty\(MarkdownIt)/s, ""],
  [/_defineProperty\(MarkdownIt, .*?\);/g, ""],
  ["callable(MarkdownIt)", "MarkdownIt"],
  // Sentences for those who write rules or presets, and options that nothing reads; here there are none but its own.
  [/new Error\((?:"[^"]*"|`[^`]*`)\)/g, 'new Error("markdown-it")'],
  [/\b(?:html|xhtmlOut|breaks|linkify|typographer): false,|langPrefix: "language-",|quotes: "[^"]*",|highlight: null,/g, ""],
  // Ruler: rules are added at the end, and enabled alone.
  [/\tat\(name, fn, options = \{\}\).*?(?=\tpush\(ruleName)/s, ""],
  [/\tdisable\(list, ignoreInvalid = false\).*?(?=\tgetRules\()/s, ""],
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
