/** A form with files, as far as grammy writes one: names of files are not in quotes. */

export interface SentFile {
  readonly filename: string;
  readonly content: Buffer;
}

export function readForm(contentType: string, body: Buffer) {
  const boundary = /boundary=(.+)$/.exec(contentType)?.[1] ?? '';
  const payload: Record<string, unknown> = {};
  const files: SentFile[] = [];
  // Latin-1 keeps every byte.
  for (const part of body.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
    const headEnd = part.indexOf('\r\n\r\n');
    const head = Buffer.from(part.slice(0, headEnd), 'latin1').toString('utf8');
    const content = Buffer.from(part.slice(headEnd + 4, -2), 'latin1');
    const filename = /;filename=(.+)/.exec(head)?.[1]?.trim();
    if (filename !== undefined) files.push({ filename, content });
    else payload[/name="([^"]+)"/.exec(head)?.[1] ?? ''] = content.toString('utf8');
  }
  return { payload, files };
}
