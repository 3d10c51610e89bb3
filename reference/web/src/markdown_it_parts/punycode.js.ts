// In place of the package `punycode.js`: markdown-it uses it to rewrite addresses, which markdown.ts does not want.
export default {};
