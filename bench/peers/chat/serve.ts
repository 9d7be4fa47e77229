/**
 * A bot of `chat` on Telegram with its state in memory, as its guide builds one: what is written is answered with twenty words.
 *
 *     node serve.ts PORT        with TELEGRAM_BOT_TOKEN, TELEGRAM_WEBHOOK_SECRET_TOKEN and TELEGRAM_API_BASE_URL
 */
import { createServer } from 'node:http';
import { createMemoryState } from '@chat-adapter/state-memory';
import { createTelegramAdapter } from '@chat-adapter/telegram';
import { Chat } from 'chat';

const ANSWER = Array.from({ length: 20 }, (_, number) => `word${number}`).join(' ');

const bot = new Chat({
  userName: 'bench_bot',
  adapters: { telegram: createTelegramAdapter({ mode: 'webhook', userName: 'bench_bot' }) },
  state: createMemoryState(),
  // Nothing that was written is left out, as it is with ours.
  concurrency: 'queue',
  logger: 'error',
});
bot.onDirectMessage(async (thread) => {
  await thread.post(ANSWER);
});

createServer(async (request, response) => {
  if (request.method !== 'POST') return void response.end('ok');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers.set(name, value);
  const call = new Request('http://127.0.0.1/', { method: 'POST', headers, body: Buffer.concat(chunks) });
  const answer = await bot.webhooks.telegram(call, {
    waitUntil: (work: Promise<unknown>) => void work.catch(console.error),
  });
  response.writeHead(answer.status).end(await answer.text());
}).listen(Number(process.argv[2]), '127.0.0.1');
