// A text that grows: what stands in the page stays there, so that nothing flickers and a selection survives.

/** Makes the children of `shown` those of `next`. The first ones, as far as they are equal, stay the same nodes. */
export function grow(shown: Element, next: Element): void {
  let at = 0;
  while (at < shown.childNodes.length && at < next.childNodes.length) {
    const [old, wanted] = [shown.childNodes[at], next.childNodes[at]];
    if (!old || !wanted) break;
    if (!old.isEqualNode(wanted)) {
      if (!(old instanceof Text && wanted instanceof Text && wanted.data.startsWith(old.data))) break;
      old.appendData(wanted.data.slice(old.data.length));
    }
    at++;
  }
  while (shown.childNodes.length > at) shown.lastChild?.remove();
  while (next.childNodes.length > at) {
    const node = next.childNodes[at];
    if (!node) break;
    shown.append(node);
  }
}
