/** The words of `Write N words`, over and over. One token each, so that words and tokens are the same count. */
export const WORDS: readonly string[] = [
  'amber birch cedar delta ember fjord grove haven island jetty',
  'kettle lantern meadow north orchard pebble quartz river saddle timber',
  'upland valley willow yonder anchor basin canyon dune estuary forest',
  'garden harbor inlet juniper knoll lagoon marble nectar oasis prairie',
].flatMap((line) => line.split(' '));

/** The `index`-th word of a text, with the space that sets it off from the one before. */
export function makeWord(index: number): string {
  const word = WORDS[index % WORDS.length] ?? '';
  return index === 0 ? word : ` ${word}`;
}
