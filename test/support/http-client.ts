/** A client of a server of either service, with one token: answers as tests look into them. */

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any;
  readonly headers: Headers;
  readonly text: string;
}

export type Headers_ = Record<string, string>;

export interface Client {
  readonly token: string;
  get(path: string, headers?: Headers_): Promise<Answer>;
  delete(path: string, headers?: Headers_): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  put(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  /** The raw response, for streams. */
  open(method: string, path: string, body?: unknown, headers?: Headers_, signal?: AbortSignal): Promise<Response>;
  /** The same client with another token; an empty one sends no Authorization. */
  as(token: string): Client;
}

function bodyText(body: unknown): string | FormData {
  return typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body);
}

export function createClient(url: string, token: string): Client {
  const open: Client['open'] = (method, path, body, headers = {}, signal) =>
    fetch(url + path, {
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: bodyText(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  const call = async (method: string, path: string, body?: unknown, headers?: Headers_): Promise<Answer> => {
    const response = await open(method, path, body, headers);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };
  return {
    token,
    open,
    get: (path, headers) => call('GET', path, undefined, headers),
    delete: (path, headers) => call('DELETE', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    as: (other) => createClient(url, other),
  };
}
