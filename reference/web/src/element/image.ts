// A picture: drawn if its bytes are in the envelope; one that would have to be fetched is a link, so that nobody learns that
// it was looked at.
import type { Image } from "../view/content.ts";
import { link } from "../view/links.ts";
import { pictureSize } from "../view/picture_size.ts";
import { WORDS, imageDescription, imageFacts, isInline } from "../view/wording.ts";
import { html } from "./dom.ts";
import type { Drawing, Drawn } from "./drawing.ts";
import { linked } from "./link.ts";

/** Returns the picture with its description. */
export function drawImage(image: Image, drawing: Drawing): Drawn {
  const words = imageDescription(image);
  const description = html(
    "figcaption",
    { dir: "auto", class: words === null ? "absent" : undefined },
    words ?? WORDS.NO_DESCRIPTION,
  );
  const copied = (): string => words ?? image.src;
  if (isInline(image) && !drawing.partial) {
    const size = pictureSize(image.src) ?? image.size;
    const picture = html("img", { alt: words ?? "", decoding: "async", width: size?.[0], height: size?.[1] });
    const broken = html("p", { class: "note" }, "the picture cannot be decoded");
    picture.addEventListener("error", () => picture.replaceWith(broken), { once: true });
    picture.src = image.src;
    return { body: html("figure", { class: "image" }, picture, description), copied };
  }
  const facts = html("p", { class: "note" }, imageFacts(image, drawing.quantity));
  const opens = isInline(image)
    ? null
    : html("p", { class: "note" }, ...linked(["Open the picture"], "", link(image.src), drawing.partial));
  return { body: html("figure", { class: "image" }, description, facts, opens), copied };
}
