/** What an answer does not tell of a registrant (RFC 9537). The names are those that IANA has registered for ICANN's profile. */
export interface Publication {
  /** The registrant wants the data kept from the public. */
  readonly isPrivate: boolean;
  /** ICANN's profile publishes state and country of everybody. */
  readonly showsRegion: boolean;
  /** Where one writes to in place of the private address. */
  readonly contactUri: string | undefined;
}

const REGISTRANT = "$.entities[?(@.roles[0]=='registrant')]";
const PRIVATE = { description: 'The registrant’s data are kept from the public.' };
/** Names of one owner could be found by it. */
const NO_HANDLE = { description: 'Registrants are not told apart to the public.' };

const property = (name: string) => `${REGISTRANT}.vcardArray[1][?(@[0]=='${name}')]`;

function emptied(name: object, postPath: string) {
  return { name, postPath, pathLang: 'jsonpath', method: 'emptyValue', reason: PRIVATE };
}

function removed(type: string, prePath: string, reason = PRIVATE) {
  return { name: { type }, prePath, pathLang: 'jsonpath', method: 'removal', reason };
}

export function redactedOf({ contactUri, isPrivate, showsRegion }: Publication) {
  const handle = removed('Registry Registrant ID', `${REGISTRANT}.handle`, NO_HANDLE);
  if (!isPrivate) return [handle];
  return [
    handle,
    emptied({ type: 'Registrant Name' }, `${property('fn')}[3]`),
    emptied({ type: 'Registrant Street' }, `${property('adr')}[3][2]`),
    emptied({ type: 'Registrant City' }, `${property('adr')}[3][3]`),
    // The profile has no name for what it does not redact.
    ...(showsRegion ? [] : [emptied({ description: 'Registrant State/Province' }, `${property('adr')}[3][4]`)]),
    emptied({ type: 'Registrant Postal Code' }, `${property('adr')}[3][5]`),
    removed('Registrant Organization', property('org')),
    removed('Registrant Phone', property('tel')),
    contactUri === undefined
      ? removed('Registrant Email', property('email'))
      : {
          name: { type: 'Registrant Email' },
          prePath: property('email'),
          replacementPath: property('contact-uri'),
          pathLang: 'jsonpath',
          method: 'replacementValue',
          reason: PRIVATE,
        },
  ];
}
