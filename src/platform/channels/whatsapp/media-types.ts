/** What WhatsApp takes of files: types that it shows, and documents. */

const SHOWN: Readonly<Record<string, 'image' | 'audio' | 'video'>> = {
  'image/jpeg': 'image',
  'image/png': 'image',
  'audio/aac': 'audio',
  'audio/amr': 'audio',
  'audio/mpeg': 'audio',
  'audio/mp4': 'audio',
  'audio/ogg': 'audio',
  'video/mp4': 'video',
  'video/3gpp': 'video',
};

const DOCUMENTS = new Set([
  'text/plain',
  'application/pdf',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
]);

/** Text under another name, which WhatsApp takes as text. */
const TEXTS = new Set([
  'application/json',
  'application/xml',
  'application/yaml',
  'application/x-ndjson',
  'image/svg+xml',
]);

export interface WhatsAppMedia {
  readonly kind: 'image' | 'audio' | 'video' | 'document';
  /** As which it is uploaded. */
  readonly mediaType: string;
}

export function isSendable(mediaType: string): boolean {
  return describeMedia(mediaType) !== undefined;
}

/** Undefined: WhatsApp takes no such file. */
export function describeMedia(given: string): WhatsAppMedia | undefined {
  const mediaType = given.split(';')[0]?.trim().toLowerCase() ?? '';
  const kind = Object.hasOwn(SHOWN, mediaType) ? SHOWN[mediaType] : undefined;
  if (kind !== undefined) return { kind, mediaType };
  if (DOCUMENTS.has(mediaType)) return { kind: 'document', mediaType };
  const isText = mediaType.startsWith('text/') || TEXTS.has(mediaType);
  return isText ? { kind: 'document', mediaType: 'text/plain' } : undefined;
}
