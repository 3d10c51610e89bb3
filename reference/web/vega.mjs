// Vega, Vega-Lite and the interpreter in the versions of package.json alone: what they need of others is in Vega's own
// bundle, so that a new version of one of its thirty packages changes nothing here.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PARTS_OF_VEGA = /^vega(?:-util|-expression|-event-selector)?$/;

// A chart without transforms needs neither maps nor forces, trees, clouds of words, or regressions.
const ALL = "extend$1(transforms, tx, vtx, encode$1, geo, force, label, tree, reg, voronoi, wordcloud, xf);";
const NEEDED = "extend$1(transforms, tx, vtx, encode$1);";

/** Returns the plugin of esbuild. */
export function vega(folder) {
  const bundle = join(folder, "node_modules", "vega", "build", "vega.js");
  return {
    name: "Vega in one piece",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: PARTS_OF_VEGA }, () => ({ path: bundle }));
      onLoad({ filter: /vega\.js$/ }, () => {
        const source = readFileSync(bundle, "utf8");
        if (!source.includes(ALL))
          throw new Error("Vega does not register its transforms so: adapt vega.mjs to this version");
        return { contents: source.replace(ALL, () => NEEDED), loader: "js" };
      });
    },
  };
}
