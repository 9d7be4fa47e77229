const MAX_CHARACTERS = 80;

/**
 * A name that a program gave itself, as people may be shown it: without what is invisible or turns the direction of text, which
 * would make it read as another name.
 */
export function readableName(name: string): string {
  const shown = name
    .normalize('NFKC')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  const characters = [...shown];
  if (characters.length === 0) return 'Unnamed program';
  return characters.length <= MAX_CHARACTERS ? shown : `${characters.slice(0, MAX_CHARACTERS).join('')}…`;
}
