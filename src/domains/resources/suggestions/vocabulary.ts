/** The words that suggestions know. All are transliterated, lower case. */

/** Words that carry no meaning of their own: articles, prepositions, legal forms. */
export const STOP_WORDS: ReadonlySet<string> = new Set([
  ...['a', 'an', 'the', 'and', 'or', 'of', 'for', 'to', 'in', 'on', 'at', 'by', 'with', 'from', 'is', 'are', 'that'],
  ...['i', 'my', 'we', 'our', 'your', 'it', 'its', 'this', 'some', 'want', 'need', 'called', 'named'],
  ...['der', 'die', 'das', 'den', 'ein', 'eine', 'und', 'oder', 'von', 'fuer', 'fur', 'zum', 'zur', 'im', 'mein'],
  ...['le', 'la', 'les', 'un', 'une', 'et', 'du', 'des', 'pour', 'el', 'los', 'las', 'y', 'con', 'para', 'il', 'di'],
  ...['gmbh', 'ag', 'ug', 'inc', 'ltd', 'llc', 'corp', 'sarl', 'bv', 'srl', 'plc'],
]);

/** Words that stand for each other, the most usual first. */
export const SYNONYMS: readonly (readonly string[])[] = [
  ['shop', 'store', 'market', 'boutique', 'outlet'],
  ['coffee', 'cafe', 'espresso', 'roasters', 'brew'],
  ['food', 'kitchen', 'eats', 'table', 'bistro'],
  ['bakery', 'bakes', 'bread', 'oven'],
  ['restaurant', 'bistro', 'kitchen', 'grill'],
  ['software', 'code', 'apps', 'dev'],
  ['developer', 'dev', 'coder', 'engineer'],
  ['agent', 'bot', 'assistant', 'copilot'],
  ['data', 'insight', 'metrics', 'analytics'],
  ['cloud', 'hosting', 'server', 'compute'],
  ['design', 'studio', 'creative', 'art'],
  ['photo', 'photos', 'pictures', 'images', 'lens'],
  ['music', 'sound', 'audio', 'tunes', 'beats'],
  ['video', 'film', 'clips', 'motion'],
  ['game', 'games', 'play', 'arcade'],
  ['blog', 'journal', 'notes', 'stories'],
  ['news', 'times', 'daily', 'report'],
  ['book', 'books', 'reads', 'pages', 'library'],
  ['school', 'academy', 'learn', 'class'],
  ['travel', 'trips', 'tours', 'journeys', 'voyage'],
  ['hotel', 'inn', 'stay', 'lodge'],
  ['home', 'house', 'living', 'casa'],
  ['garden', 'plants', 'green', 'flora'],
  ['health', 'care', 'wellness', 'vital'],
  ['fitness', 'gym', 'training', 'fit'],
  ['doctor', 'clinic', 'practice', 'medical'],
  ['law', 'legal', 'lawyers', 'counsel'],
  ['money', 'finance', 'capital', 'funds', 'pay'],
  ['consulting', 'advisory', 'partners', 'experts'],
  ['marketing', 'media', 'growth', 'brand'],
  ['agency', 'group', 'collective', 'partners'],
  ['car', 'cars', 'auto', 'motors', 'drive'],
  ['bike', 'bikes', 'cycles', 'wheels'],
  ['dog', 'dogs', 'pup', 'paws', 'pets'],
  ['cat', 'cats', 'kitty', 'paws', 'pets'],
  ['fashion', 'style', 'wear', 'clothing'],
  ['jewelry', 'gems', 'gold', 'rings'],
  ['wine', 'wines', 'cellar', 'vino'],
  ['beer', 'brewery', 'brew', 'ales'],
  ['tea', 'teas', 'leaf', 'chai'],
  ['wedding', 'bridal', 'love', 'vows'],
  ['art', 'gallery', 'arts', 'atelier'],
  ['fast', 'quick', 'rapid', 'swift'],
  ['smart', 'clever', 'bright', 'wise'],
  ['good', 'great', 'fine', 'best'],
  ['new', 'fresh', 'next', 'modern'],
  ['small', 'little', 'tiny', 'mini'],
  ['big', 'grand', 'mega', 'giant'],
  ['cheap', 'budget', 'smart', 'saver'],
  ['happy', 'joy', 'sunny', 'merry'],
  ['blue', 'azure', 'indigo', 'navy'],
  ['red', 'ruby', 'scarlet', 'crimson'],
  ['green', 'eco', 'verde', 'leaf'],
  ['sun', 'solar', 'sunny', 'sol'],
  ['water', 'aqua', 'wave', 'ocean'],
  ['mountain', 'peak', 'summit', 'alpine'],
  ['team', 'crew', 'people', 'squad'],
  ['work', 'works', 'jobs', 'office'],
  ['help', 'support', 'assist', 'care'],
  ['tool', 'tools', 'kit', 'box'],
  ['secure', 'safe', 'shield', 'guard'],
  ['build', 'make', 'craft', 'forge'],
];

/** TLDs that say what the word says. */
const TOPICS: readonly (readonly [tlds: readonly string[], words: readonly string[]])[] = [
  [
    ['shop', 'store'],
    ['shop', 'store', 'market', 'boutique', 'outlet', 'fashion', 'wear', 'clothing', 'sale', 'buy'],
  ],
  [
    ['dev', 'io'],
    ['dev', 'developer', 'code', 'coder', 'api', 'engineer', 'programming', 'git', 'open'],
  ],
  [
    ['software', 'tools'],
    ['software', 'tool', 'tools', 'kit', 'plugin', 'crm', 'erp'],
  ],
  [['app'], ['app', 'apps', 'mobile', 'game', 'games', 'tracker', 'calendar']],
  [['ai'], ['ai', 'agent', 'agents', 'bot', 'bots', 'ml', 'llm', 'assistant', 'copilot', 'neural', 'smart']],
  [
    ['cloud', 'systems'],
    ['cloud', 'hosting', 'server', 'servers', 'compute', 'data', 'backup', 'system', 'systems'],
  ],
  [
    ['tech', 'digital'],
    ['tech', 'technology', 'digital', 'cyber', 'robot', 'hardware', 'electronics'],
  ],
  [
    ['blog', 'page'],
    ['blog', 'blogs', 'journal', 'notes', 'stories', 'diary', 'writing', 'recipes'],
  ],
  [['studio'], ['studio', 'design', 'art', 'arts', 'creative', 'photo', 'photos', 'film', 'music', 'yoga', 'atelier']],
  [['agency'], ['agency', 'marketing', 'media', 'advertising', 'brand', 'pr', 'growth']],
  [
    ['live', 'tv'],
    ['live', 'video', 'stream', 'streaming', 'tv', 'show', 'film', 'sport', 'events', 'concert'],
  ],
  [
    ['work', 'works'],
    ['work', 'works', 'jobs', 'job', 'office', 'career', 'hiring', 'craft', 'build', 'repair'],
  ],
  [['world'], ['world', 'travel', 'trips', 'tours', 'global', 'earth', 'planet']],
  [['space'], ['space', 'room', 'coworking', 'gallery', 'star', 'rocket', 'moon']],
  [['run'], ['run', 'running', 'runner', 'marathon', 'fitness', 'jogging']],
  [
    ['me', 'name'],
    ['me', 'portfolio', 'resume', 'cv', 'personal', 'profile', 'bio'],
  ],
  [['pro'], ['pro', 'consulting', 'lawyer', 'legal', 'doctor', 'experts', 'training', 'coach']],
  [['org'], ['foundation', 'charity', 'community', 'association', 'club', 'church', 'ngo', 'verein']],
  [
    ['de'],
    ['germany', 'german', 'deutschland', 'deutsch', 'berlin', 'hamburg', 'muenchen', 'munich', 'koeln', 'frankfurt'],
  ],
  [['at'], ['austria', 'austrian', 'oesterreich', 'vienna', 'wien', 'salzburg', 'graz']],
  [['ch'], ['switzerland', 'swiss', 'schweiz', 'zurich', 'zuerich', 'basel', 'bern', 'geneva']],
  [['fr'], ['france', 'french', 'paris', 'lyon', 'marseille', 'bordeaux']],
  [['nl'], ['netherlands', 'dutch', 'holland', 'amsterdam', 'rotterdam', 'utrecht']],
  [['be'], ['belgium', 'belgian', 'brussels', 'antwerp', 'gent']],
  [['it'], ['italy', 'italian', 'italia', 'rome', 'roma', 'milan', 'milano']],
  [['es'], ['spain', 'spanish', 'espana', 'madrid', 'barcelona', 'sevilla']],
  [
    ['co.uk', 'uk'],
    ['uk', 'britain', 'british', 'england', 'english', 'london', 'manchester', 'scotland'],
  ],
  [['eu'], ['europe', 'european', 'eu', 'europa']],
  [['us'], ['usa', 'us', 'america', 'american', 'texas', 'california']],
  [['ca'], ['canada', 'canadian', 'toronto', 'montreal', 'vancouver']],
  [['in'], ['india', 'indian', 'delhi', 'mumbai', 'bangalore']],
];

/** Word → TLDs that suit it. */
export const TOPICAL_TLDS: ReadonlyMap<string, readonly string[]> = collectTopics();

function collectTopics(): Map<string, string[]> {
  const tldsByWord = new Map<string, string[]>();
  for (const [tlds, words] of TOPICS) {
    for (const word of words) tldsByWord.set(word, [...(tldsByWord.get(word) ?? []), ...tlds]);
  }
  return tldsByWord;
}

export const PREFIXES = ['get', 'my', 'the', 'try', 'go', 'hello', 'join', 'use', 'we'] as const;
export const SUFFIXES = ['hq', 'hub', 'lab', 'now', 'app', 'online', 'base', 'ly', 'world'] as const;

/** TLDs that suit any name, the most usual first. */
export const GENERAL_TLDS = [
  ...['com', 'net', 'org', 'io', 'co', 'dev', 'app', 'eu', 'ai', 'me', 'xyz', 'info', 'online', 'site', 'de', 'tech'],
  ...[
    'store',
    'shop',
    'cloud',
    'biz',
    'live',
    'space',
    'world',
    'digital',
    'page',
    'blog',
    'pro',
    'studio',
    'us',
    'uk',
  ],
] as const;

/** TLDs that take letters beyond ASCII of every script on offer. */
export const UNICODE_TLDS = ['com', 'net', 'org'] as const;

/** Every word above: what runs of letters can be taken apart into. */
export const KNOWN_WORDS: ReadonlySet<string> = new Set([
  ...SYNONYMS.flat(),
  ...TOPICS.flatMap(([, words]) => words),
  ...PREFIXES,
  ...['hub', 'lab', 'base', 'world', 'box', 'zone', 'point', 'line', 'land', 'town', 'city', 'star', 'light', 'life'],
]);
