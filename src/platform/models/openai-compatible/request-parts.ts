/** Texts and files of a user's message in the dialect of chat completions. */
import {
  type LanguageModelV4FilePart,
  type LanguageModelV4TextPart,
  NoSuchProviderReferenceError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { topLevelOf } from './media-types.ts';

type FileData = LanguageModelV4FilePart['data'];

/** Throws `UnsupportedFunctionalityError` for a file that the dialect has no place for. */
export function renderPart(part: LanguageModelV4TextPart | LanguageModelV4FilePart, provider: string): unknown {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { data, mediaType } = part;
  switch (data.type) {
    case 'reference': {
      const id = data.reference[provider];
      if (id === undefined) throw new NoSuchProviderReferenceError({ provider, reference: data.reference });
      return { type: 'file', file: { file_id: id } };
    }
    case 'text':
      if (topLevelOf(mediaType) !== 'text') throw refuse('text file parts');
      return { type: 'text', text: data.text };
    case 'url':
    case 'data':
      return renderFile(part, data);
  }
}

function renderFile(
  { mediaType, filename }: LanguageModelV4FilePart,
  data: Extract<FileData, { readonly type: 'url' | 'data' }>,
): unknown {
  const address = () => (data.type === 'url' ? data.url.toString() : `data:${mediaType};base64,${encode(data.data)}`);
  switch (topLevelOf(mediaType)) {
    case 'image':
      return { type: 'image_url', image_url: { url: address() } };
    case 'video':
      return { type: 'video_url', video_url: { url: address() } };
    case 'audio': {
      if (data.type === 'url') throw refuse('audio file parts with URLs');
      const format = AUDIO_FORMATS[mediaType];
      if (format === undefined) throw refuse(`audio media type ${mediaType}`);
      return { type: 'input_audio', input_audio: { data: encode(data.data), format } };
    }
    case 'application':
      if (data.type === 'url') throw refuse('PDF file parts with URLs');
      if (mediaType !== 'application/pdf') throw refuse(`file part media type ${mediaType}`);
      return { type: 'file', file: { filename: filename ?? 'document.pdf', file_data: address() } };
    case 'text':
      return { type: 'text', text: data.type === 'url' ? data.url.toString() : decode(data.data) };
    default:
      throw refuse(`file part media type ${mediaType}`);
  }
}

const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
};

/** Base64 from bytes, or as it is. */
function encode(data: Uint8Array | string): string {
  return typeof data === 'string'
    ? data
    : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

function decode(data: Uint8Array | string): string {
  return new TextDecoder().decode(typeof data === 'string' ? Buffer.from(data, 'base64') : data);
}

function refuse(functionality: string): UnsupportedFunctionalityError {
  return new UnsupportedFunctionalityError({ functionality });
}
