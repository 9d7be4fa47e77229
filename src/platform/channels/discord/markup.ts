/** Markdown as Discord reads it, which is nearly all: tables stand in blocks of code, headings have three sizes, images are links. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const TABLE_ROW = /^ {0,3}\|.*\|\s*$/;
const SMALL_HEADING = /^ {0,3}#{4,6}\s+(\S.*)$/;
const RULE = /^ {0,3}(?:[-*_] *){3,}$/;

export function toDiscordMarkup(markdown: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  let isTable = false;
  for (const line of markdown.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    const isRow = fence === undefined && TABLE_ROW.test(line);
    if (isRow !== isTable) lines.push('```');
    isTable = isRow;
    if (fence !== undefined) {
      // Discord knows fences of backticks alone.
      const closes = mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
      lines.push(closes ? line.replaceAll('~', '`') : line);
      if (closes) fence = undefined;
    } else if (mark !== undefined) {
      fence = mark;
      lines.push(line.replace(mark, mark.replaceAll('~', '`')));
    } else {
      lines.push(isRow ? line : convertLine(line));
    }
  }
  if (isTable) lines.push('```');
  return lines.join('\n').trim();
}

function convertLine(line: string): string {
  if (RULE.test(line)) return '———';
  const heading = SMALL_HEADING.exec(line)?.[1];
  if (heading !== undefined) return `**${heading.trimEnd()}**`;
  return line.replaceAll('![', '[');
}
