import type { TurnConfig } from '../turn.ts';

/** What the request says of the MCP servers that it brought, as a system message; '' where it says nothing. */
export function promptServers({ settings }: TurnConfig): string {
  const lines = (settings.tools.mcp ?? []).flatMap(({ label, description }) =>
    description === null || description.trim() === ''
      ? []
      : [`- ${label}: ${description.replaceAll(/\s+/g, ' ').trim()}`],
  );
  return lines.length === 0
    ? ''
    : ['Servers whose tools you have; their names begin with the server’s:', ...lines].join('\n');
}
