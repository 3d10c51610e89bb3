/** The few names of Node that the programs of this folder use, so that its type declarations are no dependency. */

declare module "node:readline" {
  export function createInterface(options: { input: unknown }): AsyncIterable<string>;
}

declare const process: { readonly stdin: unknown; readonly stdout: { write(text: string): void } };
