/* The statements of Dhrystone 2.1 (R. P. Weicker, SIGPLAN Notices 23(8), 1988): its procedures,
 * with their operations, calls and data, for a core without input and output. The result tells
 * that all variables have the values that Weicker gives. */
#include "programs.h"

enum color { first, second, third, fourth, fifth };

struct record {
	struct record *next;
	enum color discriminant;
	enum color component;
	int number;
	char string[31];
};

static struct record one, two, *global = &one, *following = &two;
static int number, truth;
static char ch1, ch2;
static int vector[50], matrix[50][50];

static void *copy(void *to, const void *from, uint32_t n)
{
	char *d = to;
	const char *s = from;
	while (n--)
		*d++ = *s++;
	return to;
}

void *memcpy(void *to, const void *from, uint32_t n) { return copy(to, from, n); }

__attribute__((noinline)) static void copy_string(char *to, const char *from)
{
	while ((*to++ = *from++))
		;
}

__attribute__((noinline)) static int compare(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (unsigned char)*a - (unsigned char)*b;
}

__attribute__((noinline)) static enum color func1(char a, char b)
{
	char c = a, d = c;
	if (d != b)
		return first;
	ch1 = c;
	return second;
}

__attribute__((noinline)) static int func2(char *a, char *b)
{
	int i = 2;
	char c = 0;
	while (i <= 2)
		if (func1(a[i], b[i + 1]) == first) {
			c = 'A';
			i++;
		}
	if (c >= 'W' && c < 'Z')
		i = 7;
	if (c == 'R')
		return 1;
	if (compare(a, b) > 0) {
		i += 7;
		number = i;
		return 1;
	}
	return 0;
}

__attribute__((noinline)) static int func3(enum color e) { return e == third; }

__attribute__((noinline)) static void proc6(enum color e, enum color *out)
{
	*out = e;
	if (!func3(e))
		*out = fourth;
	switch (e) {
	case first: *out = first; break;
	case second: *out = number > 100 ? first : fourth; break;
	case third: *out = second; break;
	case fourth: break;
	case fifth: *out = third; break;
	}
}

__attribute__((noinline)) static void proc7(int a, int b, int *out)
{
	int local = a + 2;
	*out = b + local;
}

__attribute__((noinline)) static void proc8(int *a, int (*b)[50], int x, int y)
{
	int at = x + 5;
	a[at] = y;
	a[at + 1] = a[at];
	a[at + 30] = at;
	for (int i = at; i <= at + 1; i++)
		b[at][i] = at;
	b[at][at - 1] += 1;
	b[at + 20][at] = a[at];
	number = 5;
}

__attribute__((noinline)) static void proc3(struct record **out)
{
	if (global)
		*out = global->next;
	proc7(10, number, &global->number);
}

__attribute__((noinline)) static void proc1(struct record *p)
{
	struct record *n = p->next;
	*p->next = *global;
	p->number = 5;
	n->number = p->number;
	n->next = p->next;
	proc3(&n->next);
	if (n->discriminant == first) {
		n->number = 6;
		proc6(p->component, &n->component);
		n->next = global->next;
		proc7(n->number, 10, &n->number);
	} else {
		*p = *p->next;
	}
}

__attribute__((noinline)) static void proc2(int *out)
{
	int i = *out + 10;
	enum color e = second;
	do
		if (ch1 == 'A') {
			i -= 1;
			*out = i - number;
			e = first;
		}
	while (e != first);
}

__attribute__((noinline)) static void proc4(void)
{
	truth = (ch1 == 'A') | truth;
	ch2 = 'B';
}

__attribute__((noinline)) static void proc5(void)
{
	ch1 = 'A';
	truth = 0;
}

int main(void)
{
	int a = 0, b = 0, c = 0;
	enum color e = first;
	char s1[31], s2[31];

	global->next = following;
	global->discriminant = first;
	global->component = third;
	global->number = 40;
	copy_string(global->string, "DHRYSTONE PROGRAM, SOME STRING");
	copy_string(s1, "DHRYSTONE PROGRAM, 1'ST STRING");
	matrix[8][7] = 10;
	put(1);
	for (int run = 1; run <= RUNS; run++) {
		proc5();
		proc4();
		a = 2;
		b = 3;
		copy_string(s2, "DHRYSTONE PROGRAM, 2'ND STRING");
		e = second;
		truth = !func2(s1, s2);
		while (a < b) {
			c = 5 * a - b;
			proc7(a, b, &c);
			a++;
		}
		proc8(vector, matrix, a, c);
		proc1(global);
		for (char x = 'A'; x <= ch2; x++)
			if (e == func1(x, 'C')) {
				proc6(first, &e);
				copy_string(s2, "DHRYSTONE PROGRAM, 3'RD STRING");
				b = run;
				number = run;
			}
		b = b * a;
		a = b / c;
		b = 7 * (b - c) - a;
		proc2(&a);
	}
	put(2);
	return number == 5 && truth == 1 && ch1 == 'A' && ch2 == 'B' && vector[8] == 7 && matrix[8][7] == RUNS + 10 &&
		global->discriminant == first && global->component == third && global->number == 17 &&
		following->discriminant == first && following->component == second && following->number == 18 &&
		a == 5 && b == 13 && c == 7 && e == second && !compare(s2, "DHRYSTONE PROGRAM, 2'ND STRING");
}
