const MAX_NAME_BYTES = 255;
/** A longer ending is no file type but a part of the name. */
const MAX_EXTENSION_BYTES = 32;
const NAMELESS = 'upload';

/**
 * A name that is safe to show, to save under and to send in a header: without folders, control characters and characters
 * that turn the direction of text, at most 255 bytes of UTF-8, its ending kept. `upload` where nothing is left.
 */
export function cleanFilename(sent: string): string {
  // Forms write a quote and a line break as percent signs (HTML, "multipart form data").
  const last =
    sent
      .replaceAll('%22', '"')
      .replaceAll(/%0[AD]/gi, '')
      .split(/[/\\]/)
      .at(-1) ?? '';
  const name = last
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim();
  if (/^\.*$/.test(name)) return NAMELESS;
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && Buffer.byteLength(name.slice(dot)) <= MAX_EXTENSION_BYTES ? name.slice(dot) : '';
  const stem = name.slice(0, name.length - ending.length);
  return cutToBytes(stem, MAX_NAME_BYTES - Buffer.byteLength(ending)) + ending;
}

/** As many whole characters from the start as fit. */
function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
