/** The protocol's client, loaded for the first connection: most processes never make one. */
type ProtocolClient = typeof import('@modelcontextprotocol/client');

let loading: Promise<ProtocolClient> | undefined;

export function loadClient(): Promise<ProtocolClient> {
  loading ??= import('@modelcontextprotocol/client');
  return loading;
}
