/** Requests that are slow, broken, endless or many. */
import type { AbuseEnvironment, HttpAbuse } from './cases.ts';

export const abuseEnvironment: AbuseEnvironment = {};

export const httpAbuses: readonly HttpAbuse[] = [
  {
    name: 'a path that is not there',
    async perform({ url }) {
      const response = await fetch(`${url}/nowhere`);
      await response.arrayBuffer();
      return { status: response.status };
    },
    answer: { status: 404 },
  },
];
