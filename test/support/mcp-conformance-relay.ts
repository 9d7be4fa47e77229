/**
 * What the protocol's conformance suite starts as the client: asks the process of the test, whose address comes first, to be it.
 * The suite adds the URL of its server.
 */
const [address = '', url = ''] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const answer = await fetch(address, { method: 'POST', body: JSON.stringify({ url, context }) });
if (!answer.ok) {
  console.error(await answer.text());
  process.exitCode = 1;
}

export {};
