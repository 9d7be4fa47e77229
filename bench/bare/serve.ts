/** The bare HTTP framework: two routes that look nothing up. Prints its port. */
import Fastify from 'fastify';

const [check = '', zone = ''] = process.argv.slice(2);
const app = Fastify({ logger: false });
app.get('/check', async (_request, reply) => reply.type('application/json').send(check));
app.get('/zone', async (_request, reply) => reply.type('application/json').send(zone));
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${new URL(address).port}\n`);
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
