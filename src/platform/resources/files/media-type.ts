const UNKNOWN = 'application/octet-stream';
/** RFC 6838, section 4.2. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** By the ending of the name. What people give to models, and what models write. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  c: 'text/x-c',
  cpp: 'text/x-c++',
  cs: 'text/x-csharp',
  css: 'text/css',
  csv: 'text/csv',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  eml: 'message/rfc822',
  epub: 'application/epub+zip',
  gif: 'image/gif',
  go: 'text/x-golang',
  gz: 'application/gzip',
  heic: 'image/heic',
  htm: 'text/html',
  html: 'text/html',
  java: 'text/x-java',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/jsonl',
  log: 'text/plain',
  m4a: 'audio/mp4',
  markdown: 'text/markdown',
  md: 'text/markdown',
  mjs: 'text/javascript',
  mov: 'video/quicktime',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  ogg: 'audio/ogg',
  pdf: 'application/pdf',
  php: 'text/x-php',
  png: 'image/png',
  ppt: 'application/vnd.ms-powerpoint',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  py: 'text/x-python',
  rb: 'text/x-ruby',
  rs: 'text/x-rust',
  rst: 'text/x-rst',
  rtf: 'application/rtf',
  sh: 'application/x-sh',
  sql: 'application/sql',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  tex: 'text/x-tex',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  toml: 'application/toml',
  ts: 'application/typescript',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
};

/** The media type of a file: what its sender says, unless that says nothing; else what its name tells. */
export function mediaTypeOf(sent: string, filename: string): string {
  const named = sent.toLowerCase();
  // What a form's part is when nobody says, and what clients say when they do not know.
  const saysNothing = named === UNKNOWN || named === 'text/plain' || !MEDIA_TYPE.test(named);
  if (!saysNothing) return named;
  const extension = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  const known = Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
  return known ?? (MEDIA_TYPE.test(named) ? named : UNKNOWN);
}
