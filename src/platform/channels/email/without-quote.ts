/** Of the line above a quotation, in the words of many clients: it ends with a colon and names a time or an address. */
const MAX_ATTRIBUTION_CHARS = 300;
/** It may have been wrapped. */
const MAX_ATTRIBUTION_LINES = 2;

/** Without the quotation that a mail ends with; all of it where nothing else is there. */
export function withoutQuote(text: string): string {
  const lines = text.split('\n');
  const above = dropEnd(lines, (line) => line.trim() === '' || line.trimStart().startsWith('>'));
  if (!lines.slice(above.length).some((line) => line.trimStart().startsWith('>'))) return text;
  const own = dropAttribution(above).join('\n').trim();
  return own === '' ? text : own;
}

function dropEnd(lines: readonly string[], isDropped: (line: string) => boolean): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => !isDropped(line)) + 1);
}

function dropAttribution(lines: readonly string[]): readonly string[] {
  if (!(lines.at(-1) ?? '').trimEnd().endsWith(':')) return lines;
  for (let count = 1; count <= MAX_ATTRIBUTION_LINES; count += 1) {
    const said = lines.slice(-count).join(' ');
    if (said.length <= MAX_ATTRIBUTION_CHARS && /[\d@]/.test(said)) return lines.slice(0, -count);
  }
  return lines;
}
