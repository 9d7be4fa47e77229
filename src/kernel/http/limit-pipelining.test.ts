/** Requests that are sent without waiting for answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startSmallService } from '../../../test/support/small-service.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { MAX_WAITING_REQUESTS } from './limit-pipelining.ts';

const LINE = 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n';

test('as many requests may wait on a connection as are allowed, and again once they are answered; one more ends it', async () => {
  const metrics = createMetrics();
  const service = await startSmallService([], { metrics });
  try {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    let answers = 0;
    socket.on('data', (chunk) => {
      answers += chunk.toString().split('"code":').length - 1;
    });
    await once(socket, 'connect');
    // The first one is answered, and does not wait.
    const allowed = MAX_WAITING_REQUESTS + 1;
    for (let round = 1; round <= 3; round += 1) {
      socket.write(LINE.repeat(allowed));
      while (answers < round * allowed && !socket.destroyed) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(answers, round * allowed);
    }
    assert.doesNotMatch(await metrics.render(), /reason="pipelining"/);
    socket.write(LINE.repeat(allowed + 1));
    await once(socket, 'close');
    assert.match(await metrics.render(), /^http_connections_closed_total\{reason="pipelining"\} 1$/m);
  } finally {
    await service.close();
  }
});
