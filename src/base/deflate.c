/* Compression: repeated strings become references to their earlier occurrences, and the result is
 * written in Huffman codes made for each block (RFC 1951).
 *
 * Matches are found through chains of positions that begin with the same three bytes. Of two
 * matches that begin one byte apart, the longer is taken. */
#include "base/deflate.h"

#include <stdlib.h>
#include <string.h>

enum {
    MATCH_MIN = 3,
    MATCH_MAX = 258,
    WINDOW = 1 << 15,
    HASH_BITS = 15,
    CHAIN_MAX = 128, /* positions tried for a match */
    GOOD_MATCH = 64, /* a match of this length ends the search */
    LITERALS = 286,  /* bytes, the end of a block, lengths */
    DISTANCES = 30,
    LENGTHS = 19, /* codes for the lengths of codes */
    END_OF_BLOCK = 256,
    CODE_MAX = 15, /* bits */
    BLOCK_TOKENS = 1 << 15
};

uint32_t nh_checksum(uint32_t sum, const void *data, size_t size)
{
    static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                        0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *byte = data;
    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum ^= byte[i];
        sum = sum >> 4 ^ nibble[sum & 15];
        sum = sum >> 4 ^ nibble[sum & 15];
    }
    return ~sum;
}

/* ---- bits, low bit first ---- */

typedef struct bits {
    nh_text *out;
    uint64_t waiting;
    int count;
} bits;

static void put(bits *b, uint32_t value, int count)
{
    b->waiting |= (uint64_t)value << b->count;
    for (b->count += count; b->count >= 8; b->count -= 8) {
        const char byte = (char)(b->waiting & 255);
        nh_text_add_bytes(b->out, &byte, 1);
        b->waiting >>= 8;
    }
}

/* ---- Huffman codes ---- */

typedef struct code {
    int length[LITERALS];
    uint32_t bits[LITERALS]; /* reversed: codes are written from the high bit down */
} code;

/* The lengths of the codes, by joining the two rarest nodes until one is left. Returns the
 * greatest. */
static int measure_code(code *c, const uint32_t *count, int symbols)
{
    uint32_t weight[2 * LITERALS];
    int parent[2 * LITERALS], nodes = symbols, most = 0;
    for (int i = 0; i < symbols; i++) {
        weight[i] = count[i];
        parent[i] = -1;
    }
    for (;;) {
        int least = -1, next = -1;
        for (int i = 0; i < nodes; i++) {
            if (weight[i] == 0 || parent[i] >= 0)
                continue;
            if (least < 0 || weight[i] < weight[least]) {
                next = least;
                least = i;
            } else if (next < 0 || weight[i] < weight[next])
                next = i;
        }
        if (next < 0)
            break;
        weight[nodes] = weight[least] + weight[next];
        parent[nodes] = -1;
        parent[least] = parent[next] = nodes++;
    }
    for (int i = 0; i < symbols; i++) {
        c->length[i] = count[i] > 0;
        if (parent[i] >= 0)
            c->length[i] = 0;
        for (int at = parent[i]; at >= 0; at = parent[at])
            c->length[i]++;
        most = c->length[i] > most ? c->length[i] : most;
    }
    return most;
}

/* Codes of one length are consecutive and follow the shorter ones. */
static void number_code(code *c, int symbols)
{
    uint32_t next = 0;
    for (int length = 1; length <= CODE_MAX; length++, next <<= 1)
        for (int i = 0; i < symbols; i++) {
            if (c->length[i] != length)
                continue;
            c->bits[i] = 0;
            for (int b = 0; b < length; b++)
                c->bits[i] |= (next >> b & 1) << (length - 1 - b);
            next++;
        }
}

/* Raises the counts of rare symbols until no code is too long. A code needs two symbols. */
static void make_code(code *c, const uint32_t *found, int symbols, int longest)
{
    uint32_t count[LITERALS];
    int used = 0;
    memcpy(count, found, (size_t)symbols * sizeof *count);
    for (int i = 0; i < symbols; i++)
        used += count[i] > 0;
    for (int i = 0; used < 2; i++)
        if (count[i] == 0) {
            count[i] = 1;
            used++;
        }
    while (measure_code(c, count, symbols) > longest)
        for (int i = 0; i < symbols; i++)
            count[i] = count[i] ? count[i] / 2 + 1 : 0;
    number_code(c, symbols);
}

/* ---- tokens ---- */

typedef struct token { /* a byte (distance 0), or a string that occurred `distance` bytes before */
    uint16_t length, distance;
} token;

/* A length or distance is a symbol and some extra bits. */
typedef struct range {
    int symbol, bits;
    uint32_t extra;
} range;

static range range_of_length(int length)
{
    if (length == MATCH_MAX)
        return (range){285, 0, 0};
    int from = length - MATCH_MIN, more = 0;
    while (from >> (more + 3) > 0)
        more++;
    return (range){257 + 4 * more + (from >> more), more, (uint32_t)from & ((1u << more) - 1)};
}

static range range_of_distance(int distance)
{
    int from = distance - 1, more = 0;
    while (from >> (more + 2) > 0)
        more++;
    return (range){2 * more + (from >> more), more, (uint32_t)from & ((1u << more) - 1)};
}

/* ---- a block ---- */

/* Lengths of codes with runs: 16 repeats the previous length, 17 and 18 are runs of zeros. */
typedef struct run {
    int symbol, bits;
    uint32_t extra;
} run;

static int find_runs(const int *length, int count, run *out)
{
    int runs = 0;
    for (int i = 0; i < count;) {
        int same = 1;
        while (i + same < count && length[i + same] == length[i])
            same++;
        if (length[i] == 0 && same >= 3) {
            same = same > 138 ? 138 : same;
            out[runs++] =
                same < 11 ? (run){17, 3, (uint32_t)same - 3} : (run){18, 7, (uint32_t)same - 11};
            i += same;
            continue;
        }
        out[runs++] = (run){length[i++], 0, 0};
        for (same--; same >= 3;) {
            const int part = same > 6 ? 6 : same;
            out[runs++] = (run){16, 2, (uint32_t)part - 3};
            i += part;
            same -= part;
        }
    }
    return runs;
}

static void write_codes(bits *b, const code *literal, const code *distance)
{
    static const int order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                       11, 4,  12, 3, 13, 2, 14, 1, 15};
    int all[LITERALS + DISTANCES], last = LENGTHS;
    run out[LITERALS + DISTANCES];
    uint32_t count[LENGTHS] = {0};
    code lengths;
    memcpy(all, literal->length, LITERALS * sizeof *all);
    memcpy(all + LITERALS, distance->length, DISTANCES * sizeof *all);
    const int runs = find_runs(all, LITERALS + DISTANCES, out);
    for (int i = 0; i < runs; i++)
        count[out[i].symbol]++;
    make_code(&lengths, count, LENGTHS, 7);
    while (last > 4 && lengths.length[order[last - 1]] == 0)
        last--;
    put(b, LITERALS - 257, 5);
    put(b, DISTANCES - 1, 5);
    put(b, (uint32_t)last - 4, 4);
    for (int i = 0; i < last; i++)
        put(b, (uint32_t)lengths.length[order[i]], 3);
    for (int i = 0; i < runs; i++) {
        put(b, lengths.bits[out[i].symbol], lengths.length[out[i].symbol]);
        put(b, out[i].extra, out[i].bits);
    }
}

static void write_block(bits *b, const token *t, int tokens, bool last)
{
    uint32_t count[LITERALS] = {[END_OF_BLOCK] = 1}, far[DISTANCES] = {0};
    code literal, distance;
    for (int i = 0; i < tokens; i++)
        if (t[i].distance == 0)
            count[t[i].length]++;
        else {
            count[range_of_length(t[i].length).symbol]++;
            far[range_of_distance(t[i].distance).symbol]++;
        }
    make_code(&literal, count, LITERALS, CODE_MAX);
    make_code(&distance, far, DISTANCES, CODE_MAX);
    put(b, last | 2 << 1, 3);
    write_codes(b, &literal, &distance);
    for (int i = 0; i < tokens; i++) {
        const range length =
            t[i].distance ? range_of_length(t[i].length) : (range){t[i].length, 0, 0};
        put(b, literal.bits[length.symbol], literal.length[length.symbol]);
        put(b, length.extra, length.bits);
        if (t[i].distance == 0)
            continue;
        const range back = range_of_distance(t[i].distance);
        put(b, distance.bits[back.symbol], distance.length[back.symbol]);
        put(b, back.extra, back.bits);
    }
    put(b, literal.bits[END_OF_BLOCK], literal.length[END_OF_BLOCK]);
}

/* ---- finding strings ---- */

typedef struct finder {
    const unsigned char *data;
    size_t size;
    size_t head[1 << HASH_BITS]; /* the last position with this hash, plus 1 */
    size_t before[WINDOW];       /* the position before it in the chain */
} finder;

static size_t *head_of(finder *f, size_t at)
{
    const unsigned char *d = f->data + at;
    const uint32_t three = (uint32_t)d[0] | (uint32_t)d[1] << 8 | (uint32_t)d[2] << 16;
    return f->head + (three * UINT32_C(2654435761) >> (32 - HASH_BITS));
}

static void note_place(finder *f, size_t at)
{
    if (at + MATCH_MIN > f->size)
        return;
    size_t *head = head_of(f, at);
    f->before[at % WINDOW] = *head;
    *head = at + 1;
}

/* The longest string that begins here and occurred before; length 0: none. */
static token find_string(finder *f, size_t at)
{
    token best = {0, 0};
    if (at + MATCH_MIN > f->size)
        return best;
    const size_t left = f->size - at, most = left < MATCH_MAX ? left : MATCH_MAX;
    size_t place = *head_of(f, at);
    for (int tries = CHAIN_MAX; place > 0 && at - (place - 1) < WINDOW && tries > 0; tries--) {
        const unsigned char *here = f->data + at, *there = f->data + place - 1;
        size_t length = 0;
        while (length < most && here[length] == there[length])
            length++;
        if (length >= MATCH_MIN && length > best.length)
            best = (token){(uint16_t)length, (uint16_t)(at - (place - 1))};
        if (best.length >= GOOD_MATCH || best.length == most)
            break;
        const size_t next = f->before[(place - 1) % WINDOW];
        place = next < place ? next : 0;
    }
    return best;
}

void nh_deflate(nh_text *out, const void *data, size_t size)
{
    finder *f = calloc(1, sizeof *f);
    token *t = malloc(BLOCK_TOKENS * sizeof *t);
    bits b = {.out = out};
    int tokens = 0;
    out->failed = out->failed || !f || !t;
    if (f) {
        f->data = data;
        f->size = size;
    }
    for (size_t at = 0; at < size && !out->failed;) {
        token found = find_string(f, at);
        note_place(f, at);
        if (found.length >= MATCH_MIN && found.length < GOOD_MATCH &&
            find_string(f, at + 1).length > found.length)
            found.length = 0;
        if (found.length < MATCH_MIN)
            found = (token){f->data[at], 0};
        const size_t end = at + (found.distance ? found.length : 1);
        while (++at < end)
            note_place(f, at);
        t[tokens++] = found;
        if (tokens == BLOCK_TOKENS && at < size) {
            write_block(&b, t, tokens, false);
            tokens = 0;
        }
    }
    if (!out->failed) {
        write_block(&b, t, tokens, true);
        put(&b, 0, 7); /* the last byte is filled up */
    }
    free(f);
    free(t);
}
