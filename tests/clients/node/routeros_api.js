// node-routeros, unmodified, against the binary API of a running router.
//
// Arguments: address, user, password. Prints `ok`, or the error.
'use strict';

const { RouterOSAPI } = require('node-routeros');

const [host, user, password] = process.argv.slice(2);

function fail(what, shown) {
    console.log(`${what}: ${JSON.stringify(shown)}`);
    process.exit(1);
}

function wanted(what, found, expected) {
    if (JSON.stringify(found) !== JSON.stringify(expected)) fail(what, found);
}

async function refused(what, message, run) {
    let shown;
    try {
        shown = await run();
    } catch (error) {
        if (error.message !== message) fail(what, error.message);
        return;
    }
    fail(what, shown);
}

function session(secret) {
    return new RouterOSAPI({ host, user, password: secret, timeout: 60, keepalive: true });
}

async function items(api) {
    const [{ ret }] = await api.write('/interface/list/add', ['=name=node', '=comment=é']);
    const find = ['?name=node', '=.proplist=name,comment'];
    wanted('add', await api.write('/interface/list/print', find), [{ name: 'node', comment: 'é' }]);
    await api.write('/interface/list/set', [`=.id=${ret}`, '=comment=new']);
    wanted('set', await api.write('/interface/list/print', find), [{ name: 'node', comment: 'new' }]);
    const either = ['?name=all', '?name=node', '?#|', '=.proplist=name'];
    const rows = await api.write('/interface/list/print', either);
    wanted('or', rows, [{ name: 'all' }, { name: 'node' }]);
    await api.write('/interface/list/remove', [`=.id=${ret}`]);
    await refused('remove twice', 'no such item', () =>
        api.write('/interface/list/remove', [`=.id=${ret}`]));
}

// The start of `listen` is unknown, so changes continue until the stream reports one.
async function changes(api) {
    let heard;
    const stream = api.stream(['/interface/list/listen'], (error, row) => {
        heard = heard || error || row;
    });
    for (let number = 0; !heard; number += 1) {
        const [{ ret }] = await api.write('/interface/list/add', [`=name=heard${number}`]);
        await api.write('/system/identity/print');
        await new Promise((resolve) => setTimeout(resolve, 300));
        await api.write('/interface/list/remove', [`=.id=${ret}`]);
    }
    if (!heard['.id']) fail('listen', heard);
    await stream.stop();
}

async function main() {
    await refused('a wrong password', 'Username or password is invalid', () =>
        session('wrong').connect());
    const api = session(password);
    await api.connect();
    wanted('print', await api.write('/system/identity/print'), [{ name: 'ferroute' }]);
    // Several commands at a time, each with its own tag.
    const names = await Promise.all(
        Array.from({ length: 20 }, () => api.write('/system/identity/print')));
    wanted('at the same time', names.flat().length, 20);
    await items(api);
    await refused('an unknown menu', 'no such command prefix', () => api.write('/no/such/print'));
    await refused('an unknown command', 'no such command', () => api.write('/ip/address/fly'));
    await changes(api);
    await api.close();
    console.log('ok');
}

main().then(() => process.exit(0), (error) => fail('failed', error.message || String(error)));
