import { ApiError } from '../../kernel/http/errors.ts';

export interface BedrockCredentials {
  readonly region: string;
  /** Bearer authentication; absent where the request is signed (SigV4). */
  readonly apiKey?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
}

const DEFAULT_REGION = 'us-east-1';
const REGION = /^[a-z]{2,}(-[a-z]+)+-\d+$/;
const ACCESS_KEY_ID = /^A[A-Z0-9]{15,}$/;

/**
 * Reads the `api_key` of a Bedrock model key, which is one of
 * - a Bedrock API key (sent as a bearer token),
 * - `ACCESS_KEY_ID:SECRET_ACCESS_KEY`, optionally `:REGION`,
 * - JSON `{api_key, region?}` or `{access_key_id, secret_access_key, session_token?, region?}`, also with the camel-case
 *   and the AWS_… spellings.
 *
 * The region is the one given here, else the one in the host of `baseUrl` (`bedrock-runtime.eu-west-1.amazonaws.com`),
 * else us-east-1. Throws `bedrock_unconfigured`, saying what is missing.
 */
export function readBedrockCredentials(secret: string, baseUrl: string | undefined): BedrockCredentials {
  const text = secret.trim();
  if (text === '') throw refuse('The Bedrock key is empty.');
  const fallback = readHostRegion(baseUrl) ?? DEFAULT_REGION;
  if (text.startsWith('{')) return readJson(text, fallback);

  const [first = '', second, third, ...more] = text.split(':');
  if (second === undefined) return { apiKey: text, region: fallback };
  if (!ACCESS_KEY_ID.test(first)) return { apiKey: text, region: fallback };
  if (second === '' || more.length > 0) throw refuse('The AWS secret access key is missing.');
  return { accessKeyId: first, secretAccessKey: second, region: checkRegion(third) ?? fallback };
}

function readJson(text: string, fallbackRegion: string): BedrockCredentials {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's message would quote the secret.
    throw refuse('The Bedrock key looks like JSON and is none.');
  }
  const members = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed ?? {})) {
    if (typeof value === 'string')
      members.set(
        name
          .toLowerCase()
          .replace(/^aws_?/, '')
          .replaceAll('_', ''),
        value.trim(),
      );
  }
  const region = checkRegion(members.get('region')) ?? fallbackRegion;
  const apiKey = members.get('apikey') ?? members.get('bearertokenbedrock');
  if (apiKey) return { apiKey, region };
  const accessKeyId = members.get('accesskeyid');
  const secretAccessKey = members.get('secretaccesskey');
  if (!accessKeyId || !secretAccessKey)
    throw refuse('The Bedrock key has neither api_key nor access_key_id and secret_access_key.');
  const sessionToken = members.get('sessiontoken');
  return { accessKeyId, secretAccessKey, region, ...(sessionToken ? { sessionToken } : {}) };
}

function checkRegion(region: string | undefined): string | undefined {
  if (region === undefined || region === '') return undefined;
  if (!REGION.test(region)) throw refuse('The AWS region is not one, such as eu-west-1.');
  return region;
}

function readHostRegion(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return undefined;
  return /^https?:\/\/bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com/.exec(baseUrl)?.[1];
}

function refuse(why: string): ApiError {
  return new ApiError('bedrock_unconfigured', {
    message:
      `${why} Store a Bedrock API key, ACCESS_KEY_ID:SECRET_ACCESS_KEY:REGION, or the JSON object ` +
      `{"access_key_id", "secret_access_key", "session_token"?, "region"} as the api_key of the provider bedrock.`,
    param: 'api_key',
  });
}
