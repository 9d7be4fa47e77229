/** Files of messages, as Slack tells of them. */
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';

/** Where a file is, and the workspace whose bot may read it. */
interface FilePlace {
  readonly teamId: string;
  /** Its id, where only `files.info` tells its address. */
  readonly url: string;
}

export function fileRefOf({ teamId, url }: FilePlace): string {
  return `${teamId}:${url}`;
}

export function readFileRef(ref: string): FilePlace {
  const at = ref.indexOf(':');
  return { teamId: ref.slice(0, at), url: ref.slice(at + 1) };
}

export function isFileId(value: unknown): value is string {
  return typeof value === 'string' && /^F[A-Z0-9]{2,30}$/.test(value);
}

/** Undefined for what is kept elsewhere, or was taken back. */
export function readFile(teamId: string, file: JsonObject): InboundAttachment | undefined {
  if (file.is_external === true || file.mode === 'tombstone') return undefined;
  const address = textAt(file, 'url_private_download') ?? textAt(file, 'url_private');
  // In a channel that two companies share nothing else is told.
  const isUntold = file.file_access === 'check_file_info' && isFileId(file.id);
  const url = address ?? (isUntold ? file.id : undefined);
  if (typeof url !== 'string') return undefined;
  return {
    ref: fileRefOf({ teamId, url }),
    filename: textAt(file, 'name') ?? 'file',
    mediaType: textAt(file, 'mimetype'),
    bytes: typeof file.size === 'number' ? file.size : undefined,
  };
}
