import { BASE_PATH, open } from '../../operation.ts';
import { listTlds } from './list-tlds.ts';
import { TldPriceList } from './schema.ts';

export function tldOperations() {
  return [
    open.read({
      id: 'tlds.list',
      method: 'GET',
      path: `${BASE_PATH}/tlds`,
      posture: 'public',
      summary: 'List the TLDs on offer, with their prices',
      description:
        'EUR retail. `register` and `renew` are for one year: a spending call confirms the price of its whole ' +
        '`duration`. `transfer` and `trade` are for the whole operation. Every name of a TLD costs the same: names that ' +
        'registries sell at a premium are not offered.',
      reply: TldPriceList,
      handler: listTlds,
    }),
  ];
}
