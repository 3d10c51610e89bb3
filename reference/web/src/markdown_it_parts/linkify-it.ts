// In place of the package `linkify-it`: a bare address in a text stays text.
export class LinkifyIt {}
