/**
 * What ICANN's profile of February 2024 demands of a registrar's answer about a name (RDAP Response Profile 2.2, Technical Implementation
 * Guide 2.2), each with its section, as far as an answer shows it: not who has the registry's ids, and nothing of the server's TLS and addresses.
 */
import assert from 'node:assert/strict';
import { jsonpath } from 'json-p3';

interface Link {
  readonly value: string;
  readonly rel: string;
  readonly href: string;
}

interface Entity {
  readonly roles: readonly string[];
  readonly handle?: string;
  readonly publicIds?: readonly { readonly type: string; readonly identifier: string }[];
  readonly links?: readonly Link[];
  readonly entities?: readonly Entity[];
  readonly vcardArray: readonly [string, readonly (readonly [string, Record<string, string>, string, unknown])[]];
}

interface Redaction {
  readonly name: { readonly type?: string };
  readonly method: string;
  readonly prePath?: string;
  readonly postPath?: string;
  readonly replacementPath?: string;
}

export interface ProfileAnswer {
  readonly [member: string]: unknown;
  readonly rdapConformance: readonly string[];
  readonly handle: string;
  readonly ldhName: string;
  readonly unicodeName?: string;
  readonly status: readonly string[];
  readonly events: readonly { readonly eventAction: string }[];
  readonly secureDNS: { readonly delegationSigned: boolean; readonly dsData?: readonly object[] };
  readonly entities: readonly Entity[];
  readonly notices: readonly {
    readonly title: string;
    readonly description: readonly string[];
    readonly links?: readonly Link[];
  }[];
  readonly redacted: readonly Redaction[];
}

/** `asked`: the address that was asked. Empty: the answer conforms. */
export function profileProblems(answer: ProfileAnswer, asked: string): string[] {
  const registrant = answer.entities.find(({ roles }) => roles.includes('registrant'));
  return Object.entries({
    'guide 1.3': () => assert.ok(answer.rdapConformance.includes('icann_rdap_technical_implementation_guide_1')),
    '1.3': () => assert.ok(answer.rdapConformance.includes('icann_rdap_response_profile_1')),
    'guide 3.3': () => checkNotice(answer, { rel: 'terms-of-service', value: asked }),
    'guide 4.1': () => assert.ok(cardsOf(answer.entities).every(isStructured)),
    'guide 7.1': () => assert.ok(cardsOf(answer.entities).every(hasTelType)),
    '1.4': () => assert.ok(cardsOf(answer.entities).every((card) => addressOf(card)?.[6] === '' || !addressOf(card))),
    '2.1': () => assert.ok(answer.unicodeName !== undefined || !answer.ldhName.includes('xn--')),
    '2.2': () => assert.match(answer.handle, /^\w{1,80}-\w{1,8}$/),
    '2.3.1': () => {
      const needed = ['registration', 'expiration', 'registrar expiration', 'last update of RDAP database'];
      for (const action of needed)
        assert.ok(
          answer.events.some(({ eventAction }) => eventAction === action),
          action,
        );
    },
    '2.4': () => checkRegistrar(answer.entities.filter(({ roles }) => roles.includes('registrar'))),
    '2.6.1': () =>
      assert.ok(answer.status.length > 0 && (answer.status.length === 1 || !answer.status.includes('active'))),
    '2.6.3': () =>
      checkNotice(answer, {
        title: 'Status Codes',
        description: 'For more information on domain status codes, please visit https://icann.org/epp',
        ...{ rel: 'glossary', href: 'https://icann.org/epp', value: asked },
      }),
    '2.7.2': () => assert.equal(answer.entities.filter(({ roles }) => roles.includes('registrant')).length, 1),
    '2.7.3': () =>
      assert.match(String(registrantCard(registrant).find(([name]) => name === 'adr')?.[1].cc), /^[A-Z]{2}$/),
    '2.7.4': () => checkRegistrant(answer, registrantCard(registrant)),
    '2.7.5': () => checkHandle(answer, registrant),
    '2.10 (form)': () =>
      checkNotice(answer, {
        title: 'RDDS Inaccuracy Complaint Form',
        description: 'URL of the ICANN RDDS Inaccuracy Complaint Form: https://icann.org/wicf',
        ...{ rel: 'help', href: 'https://icann.org/wicf', value: asked },
      }),
    '2.10 (DNSSEC)': () => assert.equal(answer.secureDNS.delegationSigned, answer.secureDNS.dsData !== undefined),
  }).flatMap(([section, check]) => {
    try {
      check();
      return [];
    } catch (error) {
      return [`${section}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}

type Card = Entity['vcardArray'][1];

function cardsOf(entities: readonly Entity[]): Card[] {
  return entities.flatMap(({ entities: inner = [], vcardArray }) => [vcardArray[1], ...cardsOf(inner)]);
}

function registrantCard(registrant: Entity | undefined): Card {
  return registrant?.vcardArray[1] ?? assert.fail('there is no registrant');
}

function addressOf(card: Card): readonly unknown[] | undefined {
  const value = card.find(([name]) => name === 'adr')?.[3];
  return Array.isArray(value) ? value : undefined;
}

function isStructured(card: Card): boolean {
  return card.every(([name, , , value]) => name !== 'adr' || (Array.isArray(value) && value.length === 7));
}

function hasTelType(card: Card): boolean {
  return card.every(([name, parameters]) => name !== 'tel' || ['voice', 'fax'].includes(parameters.type ?? ''));
}

interface WantedNotice {
  readonly title?: string;
  readonly description?: string;
  readonly rel: string;
  readonly href?: string;
  readonly value: string;
}

function checkNotice({ notices }: ProfileAnswer, { description, href, rel, title, value }: WantedNotice): void {
  const found = notices.filter(
    (notice) => (title === undefined || notice.title === title) && notice.links?.some((link) => link.rel === rel),
  );
  assert.equal(found.length, 1, title ?? rel);
  if (description !== undefined) assert.deepEqual(found[0]?.description, [description]);
  const link = found[0]?.links?.find((one) => one.rel === rel);
  assert.equal(link?.value, value);
  if (href !== undefined) assert.equal(link?.href, href);
}

/** 2.4.1 to 2.4.6. */
function checkRegistrar([registrar, ...others]: readonly Entity[]): void {
  assert.ok(registrar !== undefined && others.length === 0, 'one registrar');
  assert.ok(registrar.vcardArray[1].some(([name, , , value]) => name === 'fn' && value !== ''));
  assert.match(registrar.handle ?? '', /^[1-9]\d*$/);
  assert.deepEqual(registrar.publicIds, [{ type: 'IANA Registrar ID', identifier: registrar.handle }]);
  const abuse = registrar.entities?.find(({ roles }) => roles.includes('abuse'))?.vcardArray[1] ?? [];
  for (const wanted of ['tel', 'email'])
    assert.ok(
      abuse.some(([name]) => name === wanted),
      `abuse ${wanted}`,
    );
  assert.equal(registrar.links?.filter(({ rel, value }) => rel === 'about' && value.endsWith('/rdap/')).length, 1);
}

/** 2.7.4.1 to 2.7.4.9: what is there is told, and what is not told is said to be redacted. */
function checkRegistrant(answer: ProfileAnswer, card: Card): void {
  const address = addressOf(card) ?? assert.fail('no address');
  const values = [
    ['Registrant Name', card.find(([name]) => name === 'fn')?.[3]],
    ['Registrant Street', address[2]],
    ['Registrant City', address[3]],
    ['Registrant Postal Code', address[5]],
  ] as const;
  for (const [type, value] of values) {
    assert.equal(typeof value, 'string', type);
    if (value !== '') continue;
    const found = redactionOf(answer, type);
    assert.equal(found?.method, 'emptyValue', type);
    assert.ok(
      jsonpath.query(found?.postPath ?? '$.none', JSON.parse(JSON.stringify(answer))).values().length > 0,
      type,
    );
  }
  if (!card.some(([name]) => name === 'tel')) assert.equal(redactionOf(answer, 'Registrant Phone')?.method, 'removal');
  const hidden = redactionOf(answer, 'Registrant Email');
  assert.deepEqual(
    [card.some(([name]) => name === 'email'), card.some(([name]) => name === 'contact-uri'), hidden?.method],
    hidden === undefined ? [true, false, undefined] : [false, true, 'replacementValue'],
  );
}

/** Without a handle it is said to be redacted. */
function checkHandle(answer: ProfileAnswer, registrant: Entity | undefined): void {
  if (registrant?.handle === undefined)
    assert.equal(redactionOf(answer, 'Registry Registrant ID')?.method, 'removal', 'Registry Registrant ID');
}

function redactionOf({ redacted }: ProfileAnswer, type: string): Redaction | undefined {
  return redacted.find(({ name }) => name.type === type);
}
