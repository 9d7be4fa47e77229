/** Which parts of an HTTP exchange are secrets, by the names that they have there. */

/** Shorter, they could be anything. */
const MIN_LENGTH = 16;
const MAX_LENGTH = 4_096;

/** Names without case and separators: `client_secret`, `X-Bot-Api-Secret-Token`, `codeVerifier`. */
const SECRET_NAME =
  /(token|secret|password|passphrase|apikey|accesskey|signingkey|privatekey|codeverifier|assertion|credential)$|^(code|authcode|state|authorization|cookie|key)$/;
/** Places in lists. */
const PUBLIC_NAME = /^(next)?(page|sync|cursor|continuation)token$/;
/** The members of these paths that are secrets by what the path is. */
const SECRET_PATH = /secret/;

type Secrets = Map<string, string>;

export function secretsOfHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Secrets {
  const secrets: Secrets = new Map();
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values ?? []].flat()) {
      if (name === 'authorization') addAuthorization(secrets, value);
      else if (name === 'cookie')
        for (const one of value.split(/;\s*/)) add(secrets, 'cookie', one.slice(one.indexOf('=') + 1));
      else if (isSecretName(name)) add(secrets, name, value);
    }
  }
  return secrets;
}

/** Also what Telegram has in its paths. */
export function secretsOfUrl(url: string): Secrets {
  const secrets: Secrets = new Map();
  const [, bot] = /\/bot(\d+:[\w-]+)\//.exec(url) ?? [];
  if (bot !== undefined) add(secrets, 'bot token', bot);
  const start = url.indexOf('?');
  if (start !== -1) addForm(secrets, url.slice(start + 1));
  return secrets;
}

/** Of JSON and of forms. */
export function secretsOfBody(body: string, type: string, path: string): Secrets {
  const secrets: Secrets = new Map();
  if (/json/.test(type)) addJson(secrets, parseJson(body), SECRET_PATH.test(path));
  else if (/x-www-form-urlencoded/.test(type)) addForm(secrets, body);
  return secrets;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Not by calling itself: bodies of tests are as deep as they like. */
function addJson(secrets: Secrets, body: unknown, isSecretPath: boolean): void {
  const left = [body];
  for (let value = left.pop(); left.length > 0 || value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== 'string') left.push(member);
      else if (isSecretName(name) || (isSecretPath && name === 'value')) add(secrets, name, member);
    }
  }
}

function addForm(secrets: Secrets, form: string): void {
  for (const [name, value] of new URLSearchParams(form)) if (isSecretName(name)) add(secrets, name, value);
}

function addAuthorization(secrets: Secrets, value: string): void {
  const [scheme = '', rest = ''] = value.split(/\s+/, 2);
  const isBasic = /^basic$/i.test(scheme);
  const decoded = isBasic ? Buffer.from(rest, 'base64').toString('utf8') : rest;
  add(secrets, `authorization: ${scheme.toLowerCase()}`, decoded.slice(isBasic ? decoded.indexOf(':') + 1 : 0));
}

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  return SECRET_NAME.test(plain) && !PUBLIC_NAME.test(plain);
}

/** Words of people and addresses are no secrets; what is one has letters and digits. */
function add(secrets: Secrets, name: string, value: string): void {
  const isOne =
    value.length >= MIN_LENGTH &&
    value.length <= MAX_LENGTH &&
    /[a-z]/i.test(value) &&
    /\d/.test(value) &&
    !/\s|:\/\//.test(value);
  if (isOne) secrets.set(value, name);
}
