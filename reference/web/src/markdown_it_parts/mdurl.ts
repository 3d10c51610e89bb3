// In place of the package `mdurl`: markdown-it uses it to rewrite addresses, which markdown.ts does not want.
export {};
