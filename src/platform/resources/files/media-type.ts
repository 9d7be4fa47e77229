import { lookup } from 'mime-types';

const UNKNOWN = 'application/octet-stream';
/** RFC 6838, section 4.2. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/**
 * Where the registry that `mime-types` reads has no entry, or names another thing: a `.ts` is TypeScript before it is a
 * video, a `.rs` is Rust, a `.php` is read here and not run.
 */
const OVERRIDES: Readonly<Record<string, string>> = {
  cpp: 'text/x-c++',
  cs: 'text/x-csharp',
  go: 'text/x-golang',
  java: 'text/x-java',
  jsonl: 'application/jsonl',
  php: 'text/x-php',
  py: 'text/x-python',
  rb: 'text/x-ruby',
  rs: 'text/x-rust',
  rst: 'text/x-rst',
  tex: 'text/x-tex',
  ts: 'application/typescript',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** The media type of a file: what its sender says, unless that says nothing; else what its name tells. */
export function mediaTypeOf(sent: string, filename: string): string {
  const named = sent.toLowerCase();
  // What a form's part is when nobody says, and what clients say when they do not know.
  const saysNothing = named === UNKNOWN || named === 'text/plain' || !MEDIA_TYPE.test(named);
  if (!saysNothing) return named;
  const extension = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  const known = Object.hasOwn(OVERRIDES, extension) ? OVERRIDES[extension] : lookup(extension);
  return known || (MEDIA_TYPE.test(named) ? named : UNKNOWN);
}
