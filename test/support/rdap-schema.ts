/** What answers of RDAP look like: RFC 9083, jCard of RFC 7095, redaction of RFC 9537, statuses of RFC 8056. Members that are not there are not allowed. */
import { type JSONValue, jsonpath } from 'json-p3';
import Type, { type TSchema } from 'typebox';
import { Value } from 'typebox/value';

const closed = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });
const text = Type.String({ minLength: 1 });
const time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' });
const ldhName = Type.String({ pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9-]{2,63}$' });
const optional = Type.Optional;
/** 4.2; the relations that are registered (RFC 8288) and used here. */
const rel = Type.Union(['self', 'about', 'glossary', 'help', 'terms-of-service'].map((name) => Type.Literal(name)));
const uri = Type.String({ pattern: '^https?://[!-~]+$' });
const links = Type.Array(closed({ value: uri, rel, href: uri, type: Type.String({ pattern: '^[a-z]+/[a-z+]+$' }) }));
/** 4.3. */
const notices = Type.Array(
  closed({ title: text, description: Type.Array(text, { minItems: 1 }), links: optional(links) }),
);
/** RFC 7095, 3.3: a card begins with its version and has a formatted name. */
const vcardArray = Type.Tuple([
  Type.Literal('vcard'),
  Type.Array(Type.Tuple([Type.String({ pattern: '^[a-z-]+$' }), Type.Object({}), Type.String(), Type.Unknown()]), {
    minItems: 2,
  }),
]);
/** 10.2.4. */
const role = Type.Union(
  ['registrant', 'registrar', 'abuse', 'technical', 'administrative'].map((name) => Type.Literal(name)),
);
const publicIds = Type.Array(closed({ type: text, identifier: text }));
const person = { objectClassName: Type.Literal('entity'), roles: Type.Array(role, { minItems: 1 }), vcardArray };
/** 5.1. */
const entity = closed({
  ...person,
  handle: optional(text),
  publicIds: optional(publicIds),
  links: optional(links),
  entities: optional(Type.Array(closed(person))),
});
/** RFC 8056, 2, as far as EPP and its grace periods have them. */
const status = Type.Union(
  [
    ...['active', 'inactive', 'associated', 'add period', 'auto renew period', 'redemption period', 'pending restore'],
    ...['client delete prohibited', 'client hold', 'client renew prohibited', 'client transfer prohibited'],
    ...['client update prohibited', 'server delete prohibited', 'server hold', 'server renew prohibited'],
    ...['server transfer prohibited', 'server update prohibited', 'pending create', 'pending delete', 'pending renew'],
    ...['pending transfer', 'pending update', 'renew period', 'transfer period'],
  ].map((name) => Type.Literal(name)),
);
const action = Type.Union(
  ['registration', 'expiration', 'registrar expiration', 'last changed', 'last update of RDAP database'].map((name) =>
    Type.Literal(name),
  ),
);
/** RFC 9537, 4.2. */
const reason = closed({ description: text });
/** `type`: as IANA has registered it. */
const redactedName = Type.Union([
  closed({
    type: Type.Union(
      [
        ...['Registry Registrant ID', 'Registrant Name', 'Registrant Organization', 'Registrant Street'],
        ...['Registrant City', 'Registrant Postal Code', 'Registrant Phone', 'Registrant Email'],
      ].map((name) => Type.Literal(name)),
    ),
  }),
  closed({ description: text }),
]);
const redacted = Type.Array(
  Type.Union([
    closed({
      name: redactedName,
      prePath: text,
      pathLang: Type.Literal('jsonpath'),
      method: Type.Literal('removal'),
      reason,
    }),
    closed({
      name: redactedName,
      postPath: text,
      pathLang: Type.Literal('jsonpath'),
      method: Type.Literal('emptyValue'),
      reason,
    }),
    closed({
      name: redactedName,
      prePath: text,
      replacementPath: text,
      pathLang: Type.Literal('jsonpath'),
      method: Type.Literal('replacementValue'),
      reason,
    }),
  ]),
);
/** 4.1; the extensions that IANA has registered and that are used here. */
const every = {
  rdapConformance: Type.Array(
    Type.Union(
      [
        ...['rdap_level_0', 'redacted'],
        ...['icann_rdap_response_profile_1', 'icann_rdap_technical_implementation_guide_1'],
      ].map((name) => Type.Literal(name)),
    ),
    { minItems: 1, uniqueItems: true, contains: Type.Literal('rdap_level_0') },
  ),
};

const kinds = {
  /** 5.3. */
  domain: closed({
    ...every,
    objectClassName: Type.Literal('domain'),
    handle: text,
    ldhName,
    unicodeName: optional(text),
    status: Type.Array(status, { minItems: 1, uniqueItems: true }),
    events: Type.Array(closed({ eventAction: action, eventDate: time }), { minItems: 2 }),
    nameservers: Type.Array(closed({ objectClassName: Type.Literal('nameserver'), ldhName })),
    secureDNS: closed({
      delegationSigned: Type.Boolean(),
      dsData: optional(
        Type.Array(
          closed({
            keyTag: Type.Integer({ minimum: 0, maximum: 65_535 }),
            algorithm: Type.Integer({ minimum: 0, maximum: 255 }),
            digestType: Type.Integer({ minimum: 0, maximum: 255 }),
            digest: Type.String({ pattern: '^[0-9A-F]+$' }),
          }),
          { minItems: 1 },
        ),
      ),
    }),
    entities: Type.Array(entity, { minItems: 2 }),
    links,
    notices,
    redacted,
  }),
  /** 5.2. */
  nameserver: closed({
    ...every,
    objectClassName: Type.Literal('nameserver'),
    ldhName,
    status: Type.Array(status),
    links,
    notices,
  }),
  entity: closed({
    ...every,
    ...person,
    handle: text,
    publicIds: optional(publicIds),
    entities: Type.Array(closed(person)),
    links,
    notices,
  }),
  /** 7. */
  help: closed({ ...every, notices }),
  /** 6. */
  error: closed({ ...every, errorCode: Type.Integer({ minimum: 400 }), title: text, description: Type.Array(text) }),
};

/** Where it is not as the RFCs have it; empty: it is. */
export function rdapProblems(kind: keyof typeof kinds, answer: JSONValue): string[] {
  if (!Value.Check(kinds[kind], answer)) {
    return Value.Errors(kinds[kind], answer).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  }
  return [...eventProblems(answer), ...redactionProblems(answer)];
}

/** 4.5: one of a kind. */
function eventProblems(answer: JSONValue): string[] {
  const actions = jsonpath.query('$.events[*].eventAction', answer).values();
  return new Set(actions).size === actions.length ? [] : [`events: ${actions.join()} has one twice`];
}

/** RFC 9537, 4.2: what is emptied or put in its place is there, and what is removed is not. */
function redactionProblems(answer: JSONValue): string[] {
  const finds = (path: unknown) => jsonpath.query(String(path), answer).values().length > 0;
  return jsonpath
    .query('$.redacted[*]', answer)
    .values()
    .flatMap((one) => {
      const { postPath, prePath, replacementPath, ...rest } = Object(one) as Record<string, unknown>;
      const name = JSON.stringify(rest.name);
      if (postPath !== undefined) return finds(postPath) ? [] : [`${name}: nothing at ${postPath}`];
      if (finds(prePath)) return [`${name}: ${prePath} is still there`];
      return replacementPath === undefined || finds(replacementPath) ? [] : [`${name}: nothing at ${replacementPath}`];
    });
}
