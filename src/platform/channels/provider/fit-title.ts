const graphemes = new Intl.Segmenter();

/** The text where it fits, else as much of it as fits with an ellipsis. Counted in UTF-16 units: nobody allows fewer. */
export function fitTitle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  let fitted = '';
  for (const { segment } of graphemes.segment(text)) {
    if (fitted.length + segment.length >= maxChars) break;
    fitted += segment;
  }
  return `${fitted.trimEnd()}…`;
}
