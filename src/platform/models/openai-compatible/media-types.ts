import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';

export function topLevelOf(mediaType: string): string {
  return mediaType.split('/', 1)[0] ?? '';
}

/** Texts are sent as such, whatever their kind. */
const TYPED: ReadonlySet<string> = new Set(['image', 'video', 'audio', 'application']);

/**
 * The prompt with a full media type (`image/png`) for every file whose content is in it. Callers may give the half of one
 * (`image`, `image/*`), which is rare: what finds the rest by the first bytes is loaded when it is needed.
 *
 * Throws `UnsupportedFunctionalityError` where the bytes do not show it.
 */
export async function completeMediaTypes(prompt: LanguageModelV4Prompt): Promise<LanguageModelV4Prompt> {
  if (!prompt.some((message) => message.role === 'user' && message.content.some(isHalfTyped))) return prompt;
  const { resolveFullMediaType } = await import('@ai-sdk/provider-utils');
  return prompt.map((message): LanguageModelV4Message => {
    if (message.role !== 'user') return message;
    const content = message.content.map((part) =>
      isHalfTyped(part) ? { ...part, mediaType: resolveFullMediaType({ part }) } : part,
    );
    return { ...message, content };
  });
}

function isHalfTyped(part: { readonly type: string }): part is LanguageModelV4FilePart {
  return part.type === 'file' && isHalfTypedFile(part as LanguageModelV4FilePart);
}

function isHalfTypedFile({ data, mediaType }: LanguageModelV4FilePart): boolean {
  const [topLevel = '', subtype = ''] = mediaType.split(/\/(.*)/s);
  return data.type === 'data' && TYPED.has(topLevel) && (subtype === '' || subtype === '*');
}
