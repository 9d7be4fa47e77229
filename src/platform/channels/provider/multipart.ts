/** Forms with one file, written while the file is read: none is held in memory. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { MultipartBody } from './call-provider.ts';

export interface FormFile {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly content: Readable;
}

/** The fields first, then the file, as providers read them (RFC 7578). */
export function multipartBody(fields: Readonly<Record<string, string>>, file: FormFile): MultipartBody {
  const boundary = `form-${randomBytes(16).toString('hex')}`;
  const parts = Readable.from(writeForm(boundary, fields, file), { objectMode: false });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    stream: Readable.toWeb(parts) as ReadableStream<Uint8Array>,
    close: () => void file.content.destroy(),
  };
}

async function* writeForm(
  boundary: string,
  fields: Readonly<Record<string, string>>,
  { name, filename, mediaType, content }: FormFile,
): AsyncGenerator<Buffer> {
  for (const [field, value] of Object.entries(fields)) {
    yield Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`);
  }
  const type = mediaType.replaceAll(/[^\x20-\x7e]/g, '');
  yield Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${quotable(filename)}"\r\n` +
      `content-type: ${type}\r\n\r\n`,
  );
  for await (const chunk of content) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** As browsers write names (the HTML standard, multipart form data). */
function quotable(filename: string): string {
  return filename.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
