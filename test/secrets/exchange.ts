/** One exchange over HTTP, with a secret in each place: what search-logs.test.ts has recorded. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const server = createServer(async (request, response) => {
  await text(request);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ access_token: 'given-in-an-answer-3' }));
});
server.listen(0, '127.0.0.1', async () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has a port');
  const answer = await fetch(`http://127.0.0.1:${address.port}/token`, {
    method: 'POST',
    headers: { authorization: 'Bearer sent-in-a-header-1', 'content-type': 'application/json' },
    body: JSON.stringify({ client_secret: 'sent-in-a-body-0002' }),
  });
  await answer.text();
  server.close();
  server.closeAllConnections();
});
